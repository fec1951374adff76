// GPT-2: learned positions, LayerNorm, fused q/k/v, biases everywhere, gelu_new, tied head.
#include "core/blocks/activation.hpp"
#include "core/blocks/attention.hpp"
#include "core/decoder.hpp"
#include "core/families/common.hpp"
#include "core/families/families.hpp"
#include "core/ops/data.hpp"
#include "core/ops/elementwise.hpp"
#include "core/ops/matmul.hpp"
#include "core/ops/normalise.hpp"
#include "core/ops/views.hpp"

namespace llmcalc {
namespace {

struct NormWeights {
  ParameterId weight, bias;
};

class Gpt2 final : public Decoder {
 public:
  explicit Gpt2(Fields& f) {
    info.architecture = "gpt2";
    info.hidden = f.count({"n_embd", "hidden_size"});
    info.layers = f.layers({"n_layer", "num_hidden_layers"});
    const Count heads = f.count({"n_head", "num_attention_heads"});
    info.vocabulary = f.count("vocab_size");
    info.max_seq = f.count({"n_positions", "max_position_embeddings"}, 1024);
    f.ignore("n_ctx");
    inner_ = f.optional_count("n_inner", std::nullopt).value_or(4 * info.hidden);
    activation_ = read_activation(f, "activation_function", "gelu_new");
    attention_dropout_ = f.number("attn_pdrop", 0.1);
    residual_dropout_ = f.number("resid_pdrop", 0.1);
    embedding_dropout_ = f.number("embd_pdrop", 0.1);
    parameters.head_is_tied = f.flag("tie_word_embeddings", true);
    f.ignore({"scale_attn_weights", "scale_attn_by_inverse_layer_idx", "layer_norm_epsilon", "summary_activation",
              "summary_first_dropout", "summary_proj_to_labels", "summary_type", "summary_use_proj"});
    if (f.flag("add_cross_attention", false)) f.error("add_cross_attention", "cross-attention in gpt2 is not known here");
    if (f.flag("reorder_and_upcast_attn", false)) f.error("reorder_and_upcast_attn", "this form of attention is not known here");
    check_heads(f, {"n_head", "num_attention_heads"}, "n_head", info.hidden, heads, heads, false);
    info.attention = {{info.layers, heads, heads, info.hidden / heads, info.hidden / heads, {}, true, {}}};
    add_parameters();
  }

 protected:
  Tensor embed(Trace& t, const Job& job, const Tensor& ids) const override {
    const Trace::Scope scope(t, "embeddings");
    const Tensor tokens = embedding(t, ids, t.parameter(token_table_));
    const Tensor position_ids = constant(t, DType::int64, {1, job.seq});
    const Tensor positions = embedding(t, position_ids, t.parameter(position_table_));
    const Tensor hidden = add(t, tokens, positions);
    return dropout(t, hidden, job.rate(embedding_dropout_));
  }

  Shared share(Trace& t, const Job& job, const Tensor& hidden) const override {
    Shared shared;
    shared.mask = attention_mask(t, job, {}, hidden.dtype);
    return shared;
  }

  Tensor layer(Trace& t, const Job& job, Count, const Tensor& input, const Shared& shared) const override {
    Tensor residual = input;
    Tensor hidden = norm(t, "ln_1", residual, first_norm_);
    const Attended mixed = attention(t, job, hidden, shared.mask);
    hidden = add(t, mixed.output, residual);
    residual = hidden;
    hidden = norm(t, "ln_2", residual, second_norm_);
    hidden = mlp(t, job, hidden);
    return add(t, residual, hidden);
  }

  Tensor head(Trace& t, const Job&, const Tensor& hidden) const override {
    const Tensor normed = norm(t, "ln_f", hidden, final_norm_);
    const Trace::Scope scope(t, "lm_head");
    return linear(t, normed, t.parameter(head_));
  }

  bool mask_is_kept_by_recomputation() const override { return true; }

 private:
  void add_parameters() {
    Parameters& p = parameters;
    const Count h = info.hidden;
    token_table_ = p.add("transformer.wte.weight", {info.vocabulary, h}, Role::embedding);
    position_table_ = p.add("transformer.wpe.weight", {info.max_seq, h}, Role::positions);
    p.begin_layers("decoder", "transformer.h.", all_layers(info.layers));
    first_norm_ = add_norm("ln_1");
    qkv_ = add_conv1d("attn.c_attn", h, 3 * h);
    out_ = add_conv1d("attn.c_proj", h, h);
    second_norm_ = add_norm("ln_2");
    up_ = add_conv1d("mlp.c_fc", h, inner_);
    down_ = add_conv1d("mlp.c_proj", inner_, h);
    p.end_layers();
    final_norm_ = add_norm("transformer.ln_f");
    head_ = p.head_is_tied ? token_table_ : p.add("lm_head.weight", {info.vocabulary, h}, Role::head);
  }

  NormWeights add_norm(const std::string& name) {
    const ParameterId weight = parameters.add(name + ".weight", {info.hidden});
    return {weight, parameters.add(name + ".bias", {info.hidden})};
  }

  // Stored (in, out), unlike a Linear.
  LinearWeights add_conv1d(const std::string& name, Count in, Count out) {
    const ParameterId weight = parameters.add(name + ".weight", {in, out});
    return {weight, parameters.add(name + ".bias", {out})};
  }

  Tensor norm(Trace& t, std::string_view name, const Tensor& x, const NormWeights& w) const {
    const Trace::Scope scope(t, name);
    const Tensor weight = t.parameter(w.weight), bias = t.parameter(w.bias);
    return layer_norm(t, x, &weight, &bias);
  }

  Tensor project(Trace& t, std::string_view name, const Tensor& x, const LinearWeights& w) const {
    const Trace::Scope scope(t, name);
    return conv1d_linear(t, x, t.parameter(w.weight), t.parameter(w.bias));
  }

  Attended attention(Trace& t, const Job& job, const Tensor& x, const Tensor& mask) const {
    const Trace::Scope scope(t, "attn");
    const AttentionTraits& traits = info.attention.front();
    const Dims by_head{job.batch, job.seq, traits.heads, traits.qk_size};
    Tensors parts = chunk(t, project(t, "c_attn", x, qkv_), 3, 2);
    for (Tensor& part : parts) part = transpose(t, view(t, part, by_head), 1, 2);
    Attended mixed = attend(t, job, traits, {false, false}, parts[0], parts[1], parts[2], mask, job.rate(attention_dropout_));
    mixed.output = reshape(t, mixed.output, x.shape());
    mixed.output = project(t, "c_proj", mixed.output, out_);
    mixed.output = dropout(t, mixed.output, job.rate(residual_dropout_));
    return mixed;
  }

  Tensor mlp(Trace& t, const Job& job, const Tensor& x) const {
    const Trace::Scope scope(t, "mlp");
    Tensor hidden = project(t, "c_fc", x, up_);
    {
      const Trace::Scope inner(t, "act");
      hidden = activate(t, hidden, activation_);
    }
    hidden = project(t, "c_proj", hidden, down_);
    return dropout(t, hidden, job.rate(residual_dropout_));
  }

  Count inner_ = 0;
  Activation activation_ = Activation::gelu_new;
  double attention_dropout_ = 0, residual_dropout_ = 0, embedding_dropout_ = 0;
  ParameterId token_table_ = -1, position_table_ = -1, head_ = -1;
  NormWeights first_norm_{}, second_norm_{}, final_norm_{};
  LinearWeights qkv_, out_, up_, down_;
};

}  // namespace

std::unique_ptr<Model> build_gpt2(Fields& fields) { return std::make_unique<Gpt2>(fields); }

}  // namespace llmcalc
