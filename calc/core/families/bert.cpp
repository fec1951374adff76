// BERT: attention in both directions, norms after each part, token types, and a head with a layer of its own; trained
// on masked tokens, with the loss in the logits' dtype.
#include "core/families/common.hpp"
#include "core/families/families.hpp"
#include "core/ops/data.hpp"
#include "core/ops/elementwise.hpp"
#include "core/ops/loss.hpp"
#include "core/ops/normalise.hpp"
#include "core/ops/views.hpp"
#include "core/transformer/transformer.hpp"

namespace llmcalc {
namespace {

const NormSpec layer_norm_spec{NormKind::layer, true, true};

struct BertOptions {
  Count token_types = 2;
  Activation activation = Activation::gelu;
  bool tied = true;
};

class Bert final : public Transformer {
 public:
  Bert(TransformerSpec spec, const BertOptions& options) : Transformer(std::move(spec)), options_(options) {
    Parameters& p = parameters;
    const Count hidden = info.hidden;
    types_ = p.add("bert.embeddings.token_type_embeddings.weight", {options.token_types, hidden}, Role::positions);
    dense_ = add_linear(p, "cls.predictions.transform.dense", hidden, hidden, true);
    norm_.weight = p.add("cls.predictions.transform.LayerNorm.weight", {hidden});
    norm_.bias = p.add("cls.predictions.transform.LayerNorm.bias", {hidden});
    // A second bias that only a tied head shares.
    if (!options.tied) p.add("cls.predictions.bias", {info.vocabulary});
    // Numbers of the positions, and a row of zeros for the token types, int64.
    for (const char* name : {"bert.embeddings.position_ids", "bert.embeddings.token_type_ids"})
      p.buffers().push_back({name, size_of(DType::int64) * info.max_seq});
  }

 protected:
  Tensor embed(Trace& t, const Job& job, const Tensor& ids, Tensor& held) const override {
    const Trace::Scope scope(t, "embeddings");
    const Tensor row = stored_positions(job.seq);
    const Tensor types = expand(t, constant(t, DType::int64, {1, job.seq}), {job.batch, job.seq});
    const Tensor words = embedding(t, ids, t.parameter(weights_.embedding));
    Tensor hidden = add(t, words, embedding(t, types, t.parameter(types_)));
    hidden = add(t, hidden, embedding(t, row, t.parameter(weights_.positions)));
    hidden = run_norm(t, "LayerNorm", layer_norm_spec, weights_.embedding_norm, hidden);
    return held = dropout(t, hidden, job.rate(spec_.embedding_dropout));
  }

  Tensor finish(Trace& t, const Job&, const Tensor& input) const override {
    Tensor hidden = run_linear(t, "transform.dense", LinearForm::linear, dense_, input);
    hidden = activate(t, hidden, options_.activation);
    return run_norm(t, "transform.LayerNorm", layer_norm_spec, norm_, hidden);
  }

  Tensor head(Trace& t, const Job&, const Tensor& hidden) const override {
    return run_linear(t, "decoder", LinearForm::linear, weights_.head, hidden);
  }

  Tensor loss(Trace& t, const Tensor& logits, const Tensor& ids) const override {
    const Count tokens = ids.elements();
    return cross_entropy(t, view(t, logits, {tokens, logits.size(-1)}), view(t, ids, {tokens}));
  }

 private:
  // The first positions of the buffer, which is on the books already.
  static Tensor stored_positions(Count length) {
    Tensor row;
    row.dtype = DType::int64;
    row.layout = Layout::contiguous({1, length});
    row.storage = Ref<Storage>(new Storage(nullptr, Part::buffers, size_of(DType::int64) * length));
    return row;
  }

  BertOptions options_;
  ParameterId types_ = -1;
  LinearWeights dense_;
  NormWeights norm_;
};

}  // namespace

std::unique_ptr<Model> build_bert(Fields& f) {
  TransformerSpec s;
  s.architecture = "bert";
  s.base = "bert.";
  s.layers_name = "encoder.layer";
  s.embedding_name = "embeddings.word_embeddings";
  s.positions_name = "embeddings.position_embeddings";
  s.embedding_norm = {"embeddings.LayerNorm", layer_norm_spec};
  s.hidden = f.count("hidden_size", 768);
  s.vocabulary = f.count("vocab_size", 30522);
  s.pattern.assign(static_cast<std::size_t>(f.layers("num_hidden_layers", 12)), 0);
  s.max_seq = s.positions = f.count("max_position_embeddings", 512);
  s.embedding_dropout = f.rate("hidden_dropout_prob", 0.1);
  s.final_norm = {};
  s.tied = f.flag("tie_word_embeddings", true);
  s.head_name = s.tied ? "cls.predictions" : "cls.predictions.decoder";  // the bias of a tied head stands one up
  s.head_bias = true;
  LayerSpec layer;
  layer.name = "encoder";
  layer.form = BlockForm::norm_after_add;
  layer.before_attention = {"attention.output.LayerNorm", layer_norm_spec};
  layer.before_mlp = {"output.LayerNorm", layer_norm_spec};
  AttentionSpec& a = layer.attention;
  a.name = "attention";
  a.q_name = "self.query";
  a.k_name = "self.key";
  a.v_name = "self.value";
  a.out_name = "output.dense";
  a.heads = a.kv_heads = f.count("num_attention_heads", 12);
  check_heads(f, "num_attention_heads", "num_attention_heads", s.hidden, a.heads, a.heads, HeadSize::divides);
  a.qk_size = a.v_size = s.hidden / a.heads;
  a.qkv_bias = a.out_bias = true;
  a.causal = false;
  a.scores.softmax = SoftmaxForm::plain;
  a.dropout = f.rate("attention_probs_dropout_prob", 0.1);
  a.out_dropout = layer.mlp.dropout = s.embedding_dropout;
  layer.mlp.name.clear();
  layer.mlp.inner = f.count("intermediate_size", 3072);
  layer.mlp.activation = read_activation(f, "hidden_act", "gelu");
  set_plain_mlp(layer.mlp, true, "intermediate.dense", "output.dense");
  f.ignore({"layer_norm_eps", "classifier_dropout", "position_embedding_type", "gradient_checkpointing"});
  for (const char* key : {"is_decoder", "add_cross_attention"})
    if (f.flag(key, false)) f.error(key, "BERT as a decoder is not known here");
  const BertOptions options{f.count("type_vocab_size", 2), layer.mlp.activation, s.tied};
  s.kinds.push_back(std::move(layer));
  return std::make_unique<Bert>(std::move(s), options);
}

}  // namespace llmcalc
