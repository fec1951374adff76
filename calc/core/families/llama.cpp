// The llama form: RMSNorm, rotary positions, grouped key/value heads, gated MLP; and the families that differ from it
// only by switches: mistral (sliding window), qwen2 (biases on q, k and v).
#include <algorithm>

#include "core/blocks/activation.hpp"
#include "core/blocks/attention.hpp"
#include "core/blocks/norm.hpp"
#include "core/blocks/rotary.hpp"
#include "core/decoder.hpp"
#include "core/families/common.hpp"
#include "core/families/families.hpp"
#include "core/ops/data.hpp"
#include "core/ops/elementwise.hpp"
#include "core/ops/matmul.hpp"
#include "core/ops/views.hpp"

namespace llmcalc {
namespace {

struct Switches {
  Count hidden, inner, layers, heads, kv_heads, head_size, vocabulary, max_seq;
  bool qkv_bias, out_bias, mlp_bias, tied;
  double attention_dropout;
  Activation activation;
  std::optional<Count> window;
  std::vector<int> windowed;  // per layer: 1 where the window applies
};

class Llama final : public Decoder {
 public:
  Llama(std::string architecture, Switches s) : s_(std::move(s)) {
    info.architecture = std::move(architecture);
    info.hidden = s_.hidden;
    info.layers = s_.layers;
    info.vocabulary = s_.vocabulary;
    info.max_seq = s_.max_seq;
    windowed_.layers = std::count(s_.windowed.begin(), s_.windowed.end(), 1);
    full_ = {s_.layers - windowed_.layers, s_.heads, s_.kv_heads, s_.head_size, s_.head_size, {}, true, {}};
    windowed_ = {windowed_.layers, s_.heads, s_.kv_heads, s_.head_size, s_.head_size, s_.window, true, {}};
    for (const AttentionTraits& traits : {full_, windowed_})
      if (traits.layers > 0) info.attention.push_back(traits);
    add_parameters();
  }

 protected:
  Tensor embed(Trace& t, const Job&, const Tensor& ids) const override {
    const Trace::Scope scope(t, "embed_tokens");
    return embedding(t, ids, t.parameter(table_));
  }

  Shared share(Trace& t, const Job& job, const Tensor& hidden) const override {
    Shared shared;
    for (const AttentionTraits& traits : info.attention)
      (traits.window ? shared.window_mask : shared.mask) = attention_mask(t, job, traits.window, hidden.dtype);
    const RotaryTables tables = rotary_tables(t, job.seq, s_.head_size, hidden.dtype);
    shared.cos = tables.cos;
    shared.sin = tables.sin;
    return shared;
  }

  Tensor layer(Trace& t, const Job& job, Count index, const Tensor& input, const Shared& shared) const override {
    Tensor residual = input;
    Tensor hidden = norm(t, "input_layernorm", residual, input_norm_);
    const Attended mixed = attention(t, job, hidden, shared, s_.windowed[static_cast<std::size_t>(index)] != 0);
    hidden = add(t, residual, mixed.output);
    residual = hidden;
    hidden = norm(t, "post_attention_layernorm", residual, mlp_norm_);
    hidden = mlp(t, hidden);
    return add(t, residual, hidden);
  }

  Tensor head(Trace& t, const Job&, const Tensor& hidden) const override {
    const Tensor normed = norm(t, "norm", hidden, final_norm_);
    const Trace::Scope scope(t, "lm_head");
    return linear(t, normed, t.parameter(head_));
  }

  std::vector<LayerRun> runs() const override { return layer_runs(s_.windowed); }

 private:
  void add_parameters() {
    Parameters& p = parameters;
    p.head_is_tied = s_.tied;
    table_ = p.add("model.embed_tokens.weight", {s_.vocabulary, s_.hidden}, Role::embedding);
    p.begin_layers("decoder", "model.layers.", all_layers(s_.layers));
    q_ = add_linear(p, "self_attn.q_proj", s_.hidden, s_.heads * s_.head_size, s_.qkv_bias);
    k_ = add_linear(p, "self_attn.k_proj", s_.hidden, s_.kv_heads * s_.head_size, s_.qkv_bias);
    v_ = add_linear(p, "self_attn.v_proj", s_.hidden, s_.kv_heads * s_.head_size, s_.qkv_bias);
    o_ = add_linear(p, "self_attn.o_proj", s_.heads * s_.head_size, s_.hidden, s_.out_bias);
    gate_ = add_linear(p, "mlp.gate_proj", s_.hidden, s_.inner, s_.mlp_bias);
    up_ = add_linear(p, "mlp.up_proj", s_.hidden, s_.inner, s_.mlp_bias);
    down_ = add_linear(p, "mlp.down_proj", s_.inner, s_.hidden, s_.mlp_bias);
    input_norm_ = p.add("input_layernorm.weight", {s_.hidden});
    mlp_norm_ = p.add("post_attention_layernorm.weight", {s_.hidden});
    p.end_layers();
    final_norm_ = p.add("model.norm.weight", {s_.hidden});
    head_ = s_.tied ? table_ : p.add("lm_head.weight", {s_.vocabulary, s_.hidden}, Role::head);
    // Rotary frequencies and their unscaled copy, float32.
    p.buffers().push_back({"model.rotary_emb.inv_freq", Bytes(4 * ceil_div(s_.head_size, 2))});
    p.buffers().push_back({"model.rotary_emb.original_inv_freq", Bytes(4 * ceil_div(s_.head_size, 2))});
  }

  Tensor norm(Trace& t, std::string_view name, const Tensor& x, ParameterId weight) const {
    const Trace::Scope scope(t, name);
    return rms_norm(t, x, t.parameter(weight));
  }

  Tensor project(Trace& t, std::string_view name, const Tensor& x, const LinearWeights& w) const {
    const Trace::Scope scope(t, name);
    if (w.bias < 0) return linear(t, x, t.parameter(w.weight));
    const Tensor bias = t.parameter(w.bias);
    return linear(t, x, t.parameter(w.weight), &bias);
  }

  Tensor heads_of(Trace& t, const Tensor& x, Count heads) const {
    return transpose(t, view(t, x, {x.size(0), x.size(1), heads, s_.head_size}), 1, 2);
  }

  Attended attention(Trace& t, const Job& job, const Tensor& x, const Shared& shared, bool windowed) const {
    const Trace::Scope scope(t, "self_attn");
    Tensor q = heads_of(t, project(t, "q_proj", x, q_), s_.heads);
    Tensor k = heads_of(t, project(t, "k_proj", x, k_), s_.kv_heads);
    const Tensor v = heads_of(t, project(t, "v_proj", x, v_), s_.kv_heads);
    {
      const Trace::Scope rotary(t, "rotary");
      const Tensor cos = unsqueeze(t, shared.cos, 1), sin = unsqueeze(t, shared.sin, 1);
      const Tensor turned_q = apply_rotary(t, q, cos, sin);
      k = apply_rotary(t, k, cos, sin);
      q = turned_q;
    }
    Attended mixed = attend(t, job, windowed ? windowed_ : full_, {}, q, k, v,
                            windowed ? shared.window_mask : shared.mask, job.rate(s_.attention_dropout));
    mixed.output = reshape(t, mixed.output, {x.size(0), x.size(1), s_.heads * s_.head_size});
    mixed.output = project(t, "o_proj", mixed.output, o_);
    return mixed;
  }

  Tensor mlp(Trace& t, const Tensor& x) const {
    const Trace::Scope scope(t, "mlp");
    Tensor hidden = project(t, "gate_proj", x, gate_);
    {
      const Trace::Scope act(t, "act_fn");
      hidden = activate(t, hidden, s_.activation);
    }
    const Tensor up = project(t, "up_proj", x, up_);
    hidden = mul(t, hidden, up);
    return project(t, "down_proj", hidden, down_);
  }

  Switches s_;
  AttentionTraits full_, windowed_;
  ParameterId table_ = -1, head_ = -1, input_norm_ = -1, mlp_norm_ = -1, final_norm_ = -1;
  LinearWeights q_, k_, v_, o_, gate_, up_, down_;
};

// What transformers assumes for an absent key, where the families differ.
struct Defaults {
  Count inner, max_seq;
  std::optional<Count> kv_heads;  // nothing: as many as heads
  bool tied = false;
};

Switches read(Fields& f, const Defaults& assumed) {
  Switches s{};
  s.hidden = f.count("hidden_size");
  s.layers = f.layers("num_hidden_layers");
  s.heads = f.count("num_attention_heads");
  s.vocabulary = f.count("vocab_size");
  s.inner = f.count("intermediate_size", assumed.inner);
  s.kv_heads = f.optional_count("num_key_value_heads", assumed.kv_heads.value_or(s.heads)).value_or(s.heads);
  const std::optional<Count> head_size = f.optional_count("head_dim", std::nullopt);
  s.head_size = head_size.value_or(s.hidden / s.heads);
  s.max_seq = f.count("max_position_embeddings", assumed.max_seq);
  s.tied = f.flag("tie_word_embeddings", assumed.tied);
  s.attention_dropout = f.number("attention_dropout", 0);
  s.activation = read_activation(f, "hidden_act", "silu");
  s.windowed.assign(static_cast<std::size_t>(s.layers), 0);
  f.ignore({"rms_norm_eps", "pretraining_tp"});
  check_heads(f, "num_attention_heads", "num_key_value_heads", s.hidden, s.heads, s.kv_heads, head_size.has_value());
  if (s.head_size == 0 || s.head_size % 2 != 0)
    f.error("num_attention_heads", "rotary positions need an even head size, not " + std::to_string(s.head_size));
  return s;
}

}  // namespace

std::unique_ptr<Model> build_llama(Fields& f) {
  Switches s = read(f, {11008, 2048, {}});
  s.qkv_bias = s.out_bias = f.flag("attention_bias", false);
  s.mlp_bias = f.flag("mlp_bias", false);
  return std::make_unique<Llama>("llama", std::move(s));
}

std::unique_ptr<Model> build_mistral(Fields& f) {
  Switches s = read(f, {14336, 4096 * 32, 8});
  s.window = f.optional_count("sliding_window", 4096);
  if (s.window) s.windowed.assign(s.windowed.size(), 1);
  return std::make_unique<Llama>("mistral", std::move(s));
}

std::unique_ptr<Model> build_qwen2(Fields& f) {
  Switches s = read(f, {22016, 32768, 32});
  s.qkv_bias = true;
  const std::optional<Count> window = f.optional_count("sliding_window", 4096);
  const Count first_windowed = f.count_or_zero("max_window_layers", 28);
  if (f.flag("use_sliding_window", false)) s.window = window;
  const std::vector<std::string> types = f.texts("layer_types");
  for (std::size_t i = 0; i < s.windowed.size(); ++i)
    s.windowed[i] = types.empty() ? s.window && static_cast<Count>(i) >= first_windowed
                                  : i < types.size() && types[i] == "sliding_attention" && s.window;
  return std::make_unique<Llama>("qwen2", std::move(s));
}

}  // namespace llmcalc
