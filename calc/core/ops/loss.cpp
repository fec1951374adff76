#include "core/ops/loss.hpp"

#include <algorithm>

#include "core/ops/cast.hpp"

namespace llmcalc {
namespace {

constexpr Count log_softmax_flops = 5;

Tensors log_softmax_back(Trace& t, const Node& node, const Tensors& kept, const Tensors& g) {
  Tensor gradient = t.allocate(static_cast<DType>(node.numbers[0]), g[0].shape());
  t.launch(Op::log_softmax, g[0].dtype, {&g[0], &kept[0]}, {&gradient}).elementwise = 3 * gradient.elements();
  return {gradient};
}

// Zero everywhere but at the ids.
Tensors nll_back(Trace& t, const Node&, const Tensors& kept, const Tensors&) {
  Tensor gradient = t.allocate(kept[0].dtype, kept[0].shape());
  t.launch(Op::nll_loss, gradient.dtype, {&kept[1]}, {&gradient});
  return {gradient};
}

// Both gradients are there since the forward pass.
Tensors fused_linear_back(Trace&, const Node&, const Tensors& kept, const Tensors&) { return kept; }

Count next_power_of_2(Count n) {
  Count power = 1;
  while (power < n) power *= 2;
  return power;
}

// Of a (m, k) x (k, n) product into memory that is there.
void product_into(Trace& t, Pass pass, const Tensor& a, const Tensor& b, const Tensor& into, Count k) {
  Launch& launch = t.launch(Op::mm, a.dtype, {&a, &b}, {&into});
  launch.pass = pass;
  launch.batch = 1;
  launch.m = into.size(0);
  launch.n = into.size(1);
  launch.k = k;
}

Tensor rows_of(const Tensor& x, Count rows) {
  Tensor part = x;
  part.layout.shape[0] = rows;
  part.is_view = true;
  part.grad_fn = {};
  part.requires_grad = false;
  return part;
}

}  // namespace

Tensor cross_entropy(Trace& t, const Tensor& logits, const Tensor& ids) {
  Tensor log_probabilities;
  {
    const Ref<Node> node = t.node(Op::log_softmax, log_softmax_back, {&logits});
    if (node) node->numbers = {static_cast<Count>(logits.dtype)};
    log_probabilities = t.allocate(logits.dtype, logits.shape());
    t.launch(Op::log_softmax, logits.dtype, {&logits}, {&log_probabilities}).elementwise =
        log_softmax_flops * logits.elements();
    t.keep(node, log_probabilities);
    t.produced(node, log_probabilities);
  }
  log_probabilities = t.to_float32_under_autocast(log_probabilities);
  const Ref<Node> node = t.node(Op::nll_loss, nll_back, {&log_probabilities});
  t.keep(node, log_probabilities);
  t.keep(node, ids);
  Tensor loss = t.allocate(log_probabilities.dtype, Dims{});
  const Tensor weight = t.allocate(log_probabilities.dtype, Dims{});
  t.launch(Op::nll_loss, log_probabilities.dtype, {&ids}, {&loss, &weight});
  t.keep(node, weight);
  t.produced(node, loss);
  return loss;
}

Tensor fused_linear_cross_entropy(Trace& t, const Tensor& x, const Tensor& weight, const Tensor& ids) {
  const Ref<Node> node = t.node(Op::fused_cross_entropy, fused_linear_back, {&x, &weight});
  const Count tokens = x.size(0), hidden = x.size(1), vocabulary = weight.size(0);
  const Count chunk = std::min(tokens, next_power_of_2(ceil_div(tokens, ceil_div(vocabulary, hidden))));
  Tensor loss;
  {
    const Trace::NoGrad no_grad(t);
    const Tensor input_gradient = t.allocate(x.dtype, x.shape());
    const bool weight_learns = weight.requires_grad;
    const Tensor weight_gradient = weight_learns ? t.allocate(weight.dtype, weight.shape()) : Tensor();
    const Tensor losses = t.allocate(DType::float32, {tokens});
    const Tensor low_weight = t.to_autocast(weight);
    const DType dtype = low_weight.dtype;
    // One buffer for the logits of all chunks, unless autocast has to cast each chunk of the input.
    const bool casts = dtype != x.dtype;
    Tensor buffer = casts ? Tensor() : t.allocate(dtype, {chunk, vocabulary});
    for (Count start = 0; start < tokens; start += chunk) {
      const Count rows = std::min(chunk, tokens - start);
      const Tensor part = rows_of(x, rows);
      const Tensor low_part = t.to_autocast(part);
      const Tensor logits = casts ? t.allocate(dtype, {rows, vocabulary}) : rows_of(buffer, rows);
      product_into(t, Pass::forward, low_part, low_weight, logits, hidden);
      t.launch(Op::fused_cross_entropy, dtype, {&logits, &ids}, {&logits}).elementwise =
          log_softmax_flops * logits.elements();
      if (casts) {
        const Tensor piece = t.allocate(dtype, {rows, hidden});
        product_into(t, Pass::backward, logits, low_weight, piece, vocabulary);
        t.launch(Op::copy, x.dtype, {&piece}, {&part});
      } else {
        product_into(t, Pass::backward, logits, low_weight, part, vocabulary);
      }
      if (weight_learns) product_into(t, Pass::backward, logits, low_part, weight_gradient, rows);
    }
    buffer = {};
    loss = t.allocate(DType::float32, Dims{});
    t.launch(Op::sum, DType::float32, {&losses}, {&loss});
    t.keep(node, input_gradient);
    if (weight_learns) t.keep(node, weight_gradient);
  }
  t.produced(node, loss);
  return loss;
}

}  // namespace llmcalc
