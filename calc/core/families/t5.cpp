// T5: an encoder and a decoder of the same sequence length, relative position biases shared by all layers of a stack,
// attention across from the decoder, no scaling of scores. Its library ties the head whatever the configuration says.
#include <array>

#include "core/blocks/attention.hpp"
#include "core/families/common.hpp"
#include "core/families/families.hpp"
#include "core/ops/cast.hpp"
#include "core/ops/data.hpp"
#include "core/ops/elementwise.hpp"
#include "core/ops/loss.hpp"
#include "core/ops/matmul.hpp"
#include "core/ops/normalise.hpp"
#include "core/ops/views.hpp"
#include "core/transformer/transformer.hpp"

namespace llmcalc {
namespace {

struct T5Sizes {
  Count hidden = 0, heads = 0, head_size = 0, inner = 0, buckets = 0;
  bool gated = false, scales_output = true;
  Activation activation = Activation::relu;
  double dropout = 0.1;

  Count width() const { return checked::multiply(heads, head_size); }
};

struct AttentionIds {
  LinearWeights q, k, v, o;
  ParameterId norm = -1;
};

struct BlockIds {
  AttentionIds self, cross;
  LinearWeights gate, up, down;
  ParameterId bias = -1, mlp_norm = -1;  // the table of position biases: in a stack's first block
};

// Encoder or decoder.
struct Stack {
  std::string name;
  Count layers = 0;
  bool decodes = false;
  BlockIds first, rest;
  ParameterId final_norm = -1;
  AttentionTraits self, cross;
};

// What every block of a stack is handed.
struct BlockInputs {
  Tensor bias, mask, encoded, cross_bias, cross_mask;
};

class T5 final : public Model {
 public:
  T5(const T5Sizes& sizes, Count vocabulary, Count encoder_layers, Count decoder_layers) : s_(sizes) {
    info.architecture = "t5";
    info.hidden = s_.hidden;
    info.vocabulary = vocabulary;
    info.layers = encoder_layers + decoder_layers;
    parameters.head_is_tied = true;
    embedding_ = parameters.add("shared.weight", {vocabulary, s_.hidden}, Role::embedding);
    add_stack(encoder_, "encoder", encoder_layers, false);
    add_stack(decoder_, "decoder", decoder_layers, true);
  }

  Tensor forward(Trace& t, const Job& job, std::uint64_t& loss_begins) const override {
    t.enter_autocast();
    const Tensor ids = t.input_ids(job.batch, job.seq);
    Tensor logits;
    {
      const Tensor encoded = run_stack(t, job, encoder_, ids, {});
      const Tensor shifted = constant(t, DType::int64, {job.batch, job.seq});  // the labels, one to the right
      Tensor hidden = run_stack(t, job, decoder_, shifted, encoded);
      if (s_.scales_output) hidden = mul(t, hidden, 1.0);
      logits = run_linear(t, "lm_head", LinearForm::linear, {embedding_, -1}, hidden);
    }
    t.ledger.enter(Phase::loss);
    loss_begins = t.next_sequence();
    const Trace::Scope scope(t, "loss");
    const Count tokens = ids.elements();
    Tensor loss = cross_entropy(t, view(t, logits, {tokens, info.vocabulary}), view(t, ids, {tokens}));
    t.leave_autocast();
    return loss;
  }

 private:
  AttentionIds add_attention(const std::string& layer, const char* name) {
    const std::string prefix = layer + name + ".";
    AttentionIds ids;
    {
      const Parameters::Within half(parameters, Half::attention);
      ids.q = add_linear(parameters, prefix + "q", s_.hidden, s_.width(), false);
      ids.k = add_linear(parameters, prefix + "k", s_.hidden, s_.width(), false);
      ids.v = add_linear(parameters, prefix + "v", s_.hidden, s_.width(), false);
      ids.o = add_linear(parameters, prefix + "o", s_.width(), s_.hidden, false);
    }
    ids.norm = parameters.add(layer + "layer_norm.weight", {s_.hidden});
    return ids;
  }

  BlockIds add_block(bool decodes, bool with_bias) {
    BlockIds ids;
    ids.self = add_attention("layer.0.", "SelfAttention");
    if (with_bias) {
      const Parameters::Within half(parameters, Half::attention);
      ids.bias = parameters.add("layer.0.SelfAttention.relative_attention_bias.weight", {s_.buckets, s_.heads},
                                Role::positions);
    }
    if (decodes) ids.cross = add_attention("layer.1.", "EncDecAttention");
    const std::string last = decodes ? "layer.2." : "layer.1.", dense = last + "DenseReluDense.";
    {
      const Parameters::Within half(parameters, Half::mlp);
      if (s_.gated) ids.gate = add_linear(parameters, dense + "wi_0", s_.hidden, s_.inner, false);
      ids.up = add_linear(parameters, dense + (s_.gated ? "wi_1" : "wi"), s_.hidden, s_.inner, false);
      ids.down = add_linear(parameters, dense + "wo", s_.inner, s_.hidden, false);
    }
    ids.mlp_norm = parameters.add(last + "layer_norm.weight", {s_.hidden});
    return ids;
  }

  void add_stack(Stack& stack, const std::string& name, Count layers, bool decodes) {
    stack.name = name;
    stack.layers = layers;
    stack.decodes = decodes;
    parameters.begin_layers(name + "_first", name + ".block.", {0});
    stack.first = add_block(decodes, true);
    if (layers > 1) {
      std::vector<Count> rest = all_layers(layers);
      rest.erase(rest.begin());
      parameters.begin_layers(name, name + ".block.", std::move(rest));
      stack.rest = add_block(decodes, false);
    }
    parameters.end_layers();
    stack.final_norm = parameters.add(name + ".final_layer_norm.weight", {s_.hidden});
    const auto traits = [&](bool causal) {
      AttentionTraits a;
      a.layers = layers;
      a.heads = a.kv_heads = s_.heads;
      a.qk_size = a.v_size = s_.head_size;
      a.causal = causal;
      a.cached = decodes;
      a.why_not_fused = "T5 adds position biases to its scores";
      return a;
    };
    stack.self = traits(decodes);
    stack.cross = traits(false);
    info.attention.push_back(stack.self);
    if (decodes) info.attention.push_back(stack.cross);
  }

  // x * rsqrt(mean(float32(x)^2) + eps), then the weight.
  static Tensor norm(Trace& t, ParameterId id, const Tensor& x) {
    const Trace::Scope scope(t, "layer_norm");
    const Tensor weight = t.parameter(id);
    Tensor scale = mean_last(t, pow(t, cast(t, x, DType::float32), 2));
    scale = rsqrt(t, add(t, scale, 1e-6));
    Tensor hidden = mul(t, x, scale);
    if (size_of(weight.dtype) == Bytes(2)) hidden = cast(t, hidden, weight.dtype);
    return mul(t, weight, hidden);
  }

  Tensor attention(Trace& t, const Job& job, std::string_view name, const AttentionIds& ids,
                   const AttentionTraits& traits, const Tensor& x, const Tensor& from, const Tensor& bias,
                   const Tensor& mask) const {
    const Trace::Scope scope(t, name);
    const auto heads = [&](std::string_view projection, const LinearWeights& w, const Tensor& of) {
      const Tensor rows = run_linear(t, projection, LinearForm::linear, w, of);
      return transpose(t, view(t, rows, {of.size(0), of.size(1), s_.heads, s_.head_size}), 1, 2);
    };
    const Tensor q = heads("q", ids.q, x), k = heads("k", ids.k, from), v = heads("v", ids.v, from);
    const ScorePairs pairs = score_pairs(job, traits);
    Tensor weights;
    {
      const Trace::Scope inside(t, "scores");
      weights = matmul(t, q, transpose(t, k, -1, -2), pairs);
      weights = mul(t, weights, 1.0);
      weights = add(t, weights, bias);
      if (mask.defined()) weights = add(t, weights, mask);
    }
    {
      const Trace::Scope inside(t, "softmax");
      weights = softmax(t, weights);
      weights = dropout(t, weights, job.rate(s_.dropout));
    }
    Tensor output;
    {
      const Trace::Scope inside(t, "weighted_sum");
      output = contiguous(t, transpose(t, matmul(t, weights, v, pairs), 1, 2));
    }
    output = reshape(t, output, {x.size(0), x.size(1), s_.width()});
    return run_linear(t, "o", LinearForm::linear, ids.o, output);
  }

  Tensor mlp(Trace& t, const Job& job, const BlockIds& ids, const Tensor& x) const {
    const Trace::Scope scope(t, "DenseReluDense");
    Tensor hidden = activate(
        t, run_linear(t, s_.gated ? "wi_0" : "wi", LinearForm::linear, s_.gated ? ids.gate : ids.up, x), s_.activation);
    if (s_.gated) hidden = mul(t, hidden, run_linear(t, "wi_1", LinearForm::linear, ids.up, x));
    hidden = dropout(t, hidden, job.rate(s_.dropout));
    return run_linear(t, "wo", LinearForm::linear, ids.down, hidden);
  }

  Tensor block(Trace& t, const Job& job, const Stack& stack, const BlockIds& ids, Tensor hidden,
               const BlockInputs& in) const {
    const auto added = [&](const Tensor& part) { hidden = add(t, hidden, dropout(t, part, job.rate(s_.dropout))); };
    {
      const Tensor normed = norm(t, ids.self.norm, hidden);
      added(attention(t, job, "SelfAttention", ids.self, stack.self, normed, normed, in.bias, in.mask));
    }
    if (stack.decodes) {
      const Tensor normed = norm(t, ids.cross.norm, hidden);
      added(attention(t, job, "EncDecAttention", ids.cross, stack.cross, normed, in.encoded, in.cross_bias,
                      in.cross_mask));
    }
    added(mlp(t, job, ids, norm(t, ids.mlp_norm, hidden)));
    return hidden;
  }

  // The table looked up for every pair of positions, as (1, heads, T, T).
  Tensor position_bias(Trace& t, const Job& job, const Stack& stack) const {
    const Trace::Scope scope(t, "relative_attention_bias");
    t.layer_instance = 1;
    const Tensor buckets = constant(t, DType::int64, {job.seq, job.seq});
    const Tensor values = embedding(t, buckets, t.parameter(stack.first.bias));
    t.layer_instance = 0;
    return unsqueeze(t, permute(t, values, {2, 0, 1}), 0);
  }

  Tensor run_stack(Trace& t, const Job& job, const Stack& stack, const Tensor& ids, const Tensor& encoded) const {
    const Trace::Scope scope(t, stack.name);
    Tensor hidden;
    {
      const Trace::Scope inside(t, "embed_tokens");
      hidden = dropout(t, embedding(t, ids, t.parameter(embedding_)), job.rate(s_.dropout));
    }
    BlockInputs shared;
    shared.encoded = encoded;
    shared.mask = attention_mask(t, job, stack.self, hidden.dtype);
    shared.bias = position_bias(t, job, stack);
    if (stack.decodes) {
      shared.cross_mask = attention_mask(t, job, stack.cross, hidden.dtype);
      shared.cross_bias = constant(t, hidden.dtype, {1, s_.heads, job.seq, job.seq});
    }
    run_layer(t, job, stack, 0, hidden, shared);
    t.repeat_blocks(stack.layers - 1, [&](Count i) { run_layer(t, job, stack, i + 1, hidden, shared); });
    hidden = norm(t, stack.final_norm, hidden);
    return dropout(t, hidden, job.rate(s_.dropout));
  }

  void run_layer(Trace& t, const Job& job, const Stack& stack, Count index, Tensor& hidden,
                 const BlockInputs& shared) const {
    const auto one = [this, job, &stack, index, shared](Trace& trace, const Tensors& inputs) {
      const Trace::Scope scope(trace, "layers");
      trace.layer_instance = static_cast<int>(index) + 1;
      BlockInputs in = shared;
      in.bias = inputs[1];
      if (stack.decodes) in.encoded = inputs[2];
      Tensor out = block(trace, job, stack, index == 0 ? stack.first : stack.rest, inputs[0], in);
      trace.layer_instance = 0;
      return out;
    };
    Tensors inputs{hidden, shared.bias};
    if (stack.decodes) inputs.push_back(shared.encoded);
    hidden = job.recompute == Recompute::full ? t.checkpoint(inputs, one) : one(t, inputs);
  }

  T5Sizes s_;
  ParameterId embedding_ = -1;
  Stack encoder_, decoder_;
};

// "relu", "gated-gelu", ...
void read_feed_forward(Fields& f, T5Sizes& s) {
  std::string name = f.text("feed_forward_proj", "relu");
  const std::string gated = "gated-";
  s.gated = name.starts_with(gated);
  if (s.gated) name.erase(0, gated.size());
  if (s.gated && name == "gelu") name = "gelu_new";
  for (const std::string& known : activation_names()) {
    if (known != name) continue;
    s.activation = activation_named(name);
    return;
  }
  f.error("feed_forward_proj", "unknown activation function '" + name + "'");
}

}  // namespace

std::unique_ptr<Model> build_t5(Fields& f) {
  T5Sizes s;
  s.hidden = f.count({"d_model", "hidden_size"}, 512);
  s.head_size = f.count({"d_kv", "head_dim"}, 64);
  s.inner = f.count("d_ff", 2048);
  s.heads = f.count({"num_heads", "num_attention_heads"}, 8);
  s.buckets = f.count("relative_attention_num_buckets", 32);
  s.dropout = f.rate("dropout_rate", 0.1);
  read_feed_forward(f, s);
  s.scales_output = f.flag("tie_word_embeddings", true);
  const Count vocabulary = f.count("vocab_size", 32128);
  const Count encoder_layers = f.layers({"num_layers", "num_hidden_layers"}, 6);
  Count decoder_layers = f.optional_count("num_decoder_layers", encoder_layers).value_or(encoder_layers);
  if (decoder_layers > Fields::most_layers) {
    f.error("num_decoder_layers", "too many layers");
    decoder_layers = encoder_layers;
  }
  f.ignore({"relative_attention_max_distance", "layer_norm_epsilon", "n_positions", "is_encoder_decoder", "is_decoder",
            "classifier_dropout", "is_gated_act", "dense_act_fn", "task_specific_params", "max_position_embeddings"});
  return std::make_unique<T5>(s, vocabulary, encoder_layers, decoder_layers);
}

}  // namespace llmcalc
