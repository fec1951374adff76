// A mixture of experts: the router, tokens sorted by expert, two grouped products, and what every token takes.
#include "core/transformer/experts.hpp"

#include <algorithm>

#include "core/ops/cast.hpp"
#include "core/ops/data.hpp"
#include "core/ops/elementwise.hpp"
#include "core/ops/experts.hpp"
#include "core/ops/fused.hpp"
#include "core/ops/matmul.hpp"
#include "core/ops/normalise.hpp"
#include "core/ops/select.hpp"
#include "core/ops/views.hpp"
#include "core/transformer/transformer.hpp"

namespace llmcalc {
namespace {

struct Routed {
  Tensor weights;  // (tokens, k)
  Tensor experts;  // (tokens, k) int64
};

class Router {
 public:
  Router(Trace& t, const ExpertsSpec& e, const ExpertsWeights& w) : t_(t), e_(e), w_(w) {}

  Routed run(const Tensor& x) const {
    const Trace::Scope scope(t_, e_.router_name);
    if (e_.router == RouterKind::softmax_corrected) return corrected_softmax(x);
    const Tensor logits = scores(x);
    switch (e_.router) {
      case RouterKind::top_softmax: {
        const TopK top = topk(t_, logits, e_.per_token);
        return {softmax(t_, top.values, top.values.dtype), top.indices};
      }
      case RouterKind::top_softmax_float32: {
        const TopK top = topk(t_, cast(t_, logits, DType::float32), e_.per_token);
        return {cast(t_, softmax(t_, top.values), x.dtype), top.indices};
      }
      case RouterKind::sigmoid_groups: return sigmoid_groups(logits);
      case RouterKind::softmax_groups: return softmax_groups(logits);
      case RouterKind::sigmoid_top: return sigmoid_top(logits);
      case RouterKind::softmax_norm: {
        TopK top = topk(t_, softmax(t_, logits, logits.dtype), e_.per_token);
        if (e_.normalises) top.values = div(t_, top.values, sum_last(t_, top.values, true));
        return {top.values, top.indices};
      }
      case RouterKind::sampled: return sampled(logits);
      default: return softmax_top(logits);
    }
  }

 private:
  Tensor scores(const Tensor& x) const {
    if (!e_.router_float32) return run_linear_of_router(x);
    const Tensor weight = cast(t_, t_.parameter(w_.router.weight), DType::float32);
    return linear(t_, cast(t_, x, DType::float32), weight);
  }

  Tensor run_linear_of_router(const Tensor& x) const {
    const Tensor weight = t_.parameter(w_.router.weight);
    if (w_.router.bias < 0) return linear(t_, x, weight);
    const Tensor bias = t_.parameter(w_.router.bias);
    return linear(t_, x, weight, &bias);
  }

  Routed softmax_top(const Tensor& logits) const {
    const Tensor probabilities = softmax(t_, logits, DType::float32);
    TopK top = topk(t_, probabilities, e_.per_token);
    if (e_.normalises) top.values = div_in_place(t_, top.values, sum_last(t_, top.values, true));
    if (e_.weights_in_router_dtype) top.values = cast(t_, top.values, logits.dtype);
    return {top.values, top.indices};
  }

  // A boolean mask of the experts outside the best groups.
  Tensor outside_groups(const Tensor& like) const {
    const Trace::NoGrad no_grad(t_);
    return constant(t_, DType::boolean, like.shape());
  }

  Tensor by_group(const Tensor& x) const { return view(t_, x, {x.size(0), e_.groups, e_.experts / e_.groups}); }

  Routed sigmoid_groups(const Tensor& logits) const {
    const Tensor probabilities = sigmoid(t_, logits);
    Tensor choice = add(t_, probabilities, constant(t_, DType::float32, {e_.experts}));
    {
      Tensor best = topk(t_, by_group(choice), std::min<Count>(2, e_.experts / e_.groups)).values;
      best = sum_last(t_, best, false);
      topk(t_, best, e_.top_groups);
    }
    const Tensor mask = outside_groups(choice);
    choice = masked_fill(t_, choice, &mask);
    const Tensor experts = topk(t_, choice, e_.per_token).indices;
    Tensor weights = gather_last(t_, probabilities, experts);
    if (e_.normalises) weights = div_in_place(t_, weights, add(t_, sum_last(t_, weights, true), 1e-20));
    return {mul(t_, weights, 1.0), experts};
  }

  Routed softmax_groups(const Tensor& logits) const {
    Tensor probabilities = softmax(t_, logits, DType::float32);
    if (!e_.greedy) {
      const Tensor best = max_last(t_, by_group(probabilities));
      topk(t_, squeeze(t_, best, -1), e_.top_groups);
      const Tensor mask = outside_groups(probabilities);
      probabilities = masked_fill(t_, probabilities, &mask);
    }
    const TopK top = topk(t_, probabilities, e_.per_token);
    return {mul(t_, top.values, 1.0), top.indices};
  }

  Routed sigmoid_top(const Tensor& logits) const {
    const Tensor probabilities = sigmoid(t_, cast(t_, logits, DType::float32));
    const Tensor choice = add(t_, probabilities, constant(t_, DType::float32, {e_.experts}));
    const Tensor experts = topk(t_, choice, e_.per_token).indices;
    const Tensor weights = gather_last(t_, probabilities, experts);
    return {div_in_place(t_, weights, sum_last(t_, weights, true)), experts};
  }

  // One expert after the other: masked scores, a sample, its probability as the weight.
  Routed sampled(const Tensor& logits) const {
    Tensors weights, experts;
    Tensor scores_left = logits;
    for (Count i = 0; i < e_.per_token; ++i) {
      const Tensor mask = outside_groups(logits);
      Tensor gates = masked_fill(t_, scores_left, &mask);
      const Tensor chosen = topk(t_, add(t_, gates, 1.0), 1).indices;
      gates = softmax(t_, gates);
      const Tensor factor = gather_last(t_, gates, chosen);
      topk(t_, gates, 1);
      weights.push_back(sampled_gate(t_, logits, factor, chosen, gates));
      experts.push_back(chosen);
      if (i + 1 < e_.per_token) scores_left = struck_out(t_, logits, chosen);
    }
    return {cat(t_, weights, -1), cat(t_, experts, -1)};
  }

  Routed corrected_softmax(const Tensor& x) const {
    Routed routed;
    {
      const Trace::AutocastOff off(t_);
      const Tensor probabilities = softmax(t_, scores(x), DType::float32);
      const Tensor choice = add(t_, probabilities, constant(t_, DType::float32, {e_.experts}));
      routed.experts = topk(t_, choice, e_.per_token).indices;
      const Tensor weights = gather_last(t_, probabilities, routed.experts);
      routed.weights = div(t_, weights, clamp(t_, sum_last(t_, weights, true)));
    }
    routed.weights = cast(t_, routed.weights, x.dtype);
    return routed;
  }

  Trace& t_;
  const ExpertsSpec& e_;
  const ExpertsWeights& w_;
};

// (experts, in, out) of a stored weight: as it is, or as a transposed view.
Tensor in_by_out(Trace& t, const ExpertsSpec& e, ParameterId id) {
  const Tensor weight = t.parameter(id);
  return e.storage == ExpertsStorage::in_by_out ? weight : transpose(t, weight, -2, -1);
}

Tensor grouped_linear(Trace& t, const Tensor& x, const Tensor& weight, const Tensor& offsets, const Tensor& bias) {
  const Tensor y = grouped_mm(t, cast(t, x, weight.dtype), weight, offsets);
  return bias.defined() ? add_in_place(t, y, bias) : y;
}

Tensor gated(Trace& t, const ExpertsSpec& e, const Tensor& both) {
  if (!e.clamps) {
    const Tensors halves = chunk(t, both, 2, -1);
    if (t.settings.fused_kernels) return gated_activation(t, halves[0], halves[1]);
    Tensor active;
    {
      const Trace::Scope scope(t, "act_fn");
      active = activate(t, halves[0], e.activation);
    }
    return mul(t, active, halves[1]);
  }
  Tensor gate = slice(t, both, -1, 0, e.inner, 2), up = slice(t, both, -1, 1, e.inner, 2);
  gate = clamp(t, gate);
  up = clamp(t, up);
  const Tensor active = mul(t, gate, sigmoid(t, mul(t, gate, 1.0)));
  return mul(t, add(t, up, 1.0), active);
}

Tensor up_of_rows(Trace& t, const ExpertsSpec& e, const ExpertsWeights& w, const Tensor& rows, const Tensor& offsets) {
  const Dims by_expert{e.experts, e.inner, rows.size(1)};
  const auto weight = [&](ParameterId id) { return transpose(t, view(t, t.parameter(id), by_expert), -2, -1); };
  Tensor gate = grouped_linear(t, rows, weight(w.gate_up), offsets, {});
  const Tensor up = grouped_linear(t, rows, weight(w.up), offsets, {});
  gate = activate(t, gate, e.activation);
  return mul(t, gate, up);
}

// The experts of all tokens x (tokens, hidden).
Tensor run_all(Trace& t, const ExpertsSpec& e, const ExpertsWeights& w, const Tensor& x, const Routed& routed) {
  const Trace::Scope scope(t, e.experts_name);
  const Count tokens = x.size(0), pairs = tokens * e.per_token;
  const Tensor sample_weights = reshape(t, routed.weights, {pairs});
  // Sorted expert numbers, the permutation that sorts them, the token of each row, where each expert's rows end.
  const Tensor sorted = constant(t, DType::int64, {pairs}), order = constant(t, DType::int64, {pairs});
  Tensor rows = rows_at(t, x, constant(t, DType::int64, {pairs}));
  const Tensor row_weights = rows_at(t, sample_weights, order);
  const Tensor offsets = constant(t, DType::int32, {e.experts});
  Tensor bias;
  const auto bias_rows = [&](ParameterId id) { return e.biases ? rows_at(t, t.parameter(id), sorted) : Tensor(); };
  Tensor hidden;
  if (e.storage == ExpertsStorage::rows_of_all) {
    hidden = up_of_rows(t, e, w, rows, offsets);
    hidden = grouped_linear(t, hidden, view(t, t.parameter(w.down), {e.experts, e.inner, x.size(1)}), offsets, {});
  } else {
    bias = bias_rows(w.gate_up_bias);
    hidden = grouped_linear(t, rows, in_by_out(t, e, w.gate_up), offsets, bias);
    hidden = gated(t, e, hidden);
    bias = bias_rows(w.down_bias);
    hidden = grouped_linear(t, hidden, in_by_out(t, e, w.down), offsets, bias);
  }
  hidden = mul(t, hidden, unsqueeze(t, row_weights, -1));
  hidden = rows_at(t, hidden, constant(t, DType::int64, {pairs}));
  hidden = sum_axis_1(t, view(t, hidden, {tokens, e.per_token, x.size(1)}));
  return cast(t, hidden, x.dtype);
}

Tensor shared_part(Trace& t, const Job& job, const ExpertsSpec& e, const ExpertsWeights& w, const Tensor& x) {
  return run_mlp(t, job, e.shared, w.shared, x);
}

// Llama 4: every expert computes every token, scaled by its score, which is 0 for those not chosen.
Tensor every_expert(Trace& t, const Job& job, const ExpertsSpec& e, const ExpertsWeights& w, const Tensor& x) {
  const Count tokens = x.size(0), hidden = x.size(1);
  Tensor scores;
  {
    const Trace::Scope scope(t, e.router_name);
    const Tensor logits = linear(t, x, t.parameter(w.router.weight));
    const TopK top = topk(t, logits, e.per_token);
    scores = scattered(t, top.values, top.indices, e.experts);
    scores = sigmoid(t, cast(t, scores, DType::float32));
    scores = cast(t, scores, logits.dtype);
  }
  Tensor routed = reshape(t, expand(t, unsqueeze(t, x, 0), {e.experts, tokens, hidden}), {e.experts * tokens, hidden});
  routed = mul(t, routed, reshape(t, transpose(t, scores, 0, 1), {e.experts * tokens, 1}));
  {
    const Trace::Scope scope(t, e.experts_name);
    const Tensor both = matmul(t, view(t, routed, {e.experts, tokens, hidden}), t.parameter(w.gate_up));
    const Tensors halves = chunk(t, both, 2, -1);
    routed = mul(t, halves[1], activate(t, halves[0], e.activation));
    routed = matmul(t, routed, t.parameter(w.down));
  }
  const Tensor shared = run_mlp(t, job, e.shared, w.shared, x);
  return add_in_place(t, shared, sum_axis_0(t, routed));
}

}  // namespace

Tensor run_experts(Trace& t, const Job& job, const ExpertsSpec& e, const ExpertsWeights& w, const Tensor& x) {
  const Trace::Scope scope(t, e.name.empty() ? std::string_view("moe") : std::string_view(e.name));
  const Tensor tokens = view(t, x, {x.size(0) * x.size(1), x.size(2)});
  if (e.router == RouterKind::sigmoid_input) return view(t, every_expert(t, job, e, w, tokens), x.shape());
  Tensor shared;
  if (e.shared.inner > 0 && e.shared_first) shared = shared_part(t, job, e, w, tokens);
  const Routed routed = Router(t, e, w).run(tokens);
  Tensor hidden = run_all(t, e, w, tokens, routed);
  if (shared.defined()) {
    if (!e.shared_gate_name.empty()) {
      const Tensor gate = run_linear(t, e.shared_gate_name, LinearForm::linear, w.shared_gate, tokens);
      shared = mul(t, sigmoid(t, gate), shared);
    }
    hidden = add(t, hidden, shared);
  }
  hidden = view(t, hidden, x.shape());
  if (e.shared.inner > 0 && !e.shared_first) hidden = add(t, hidden, shared_part(t, job, e, w, x));
  return hidden;
}

}  // namespace llmcalc
