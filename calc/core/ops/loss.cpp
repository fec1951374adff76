#include "core/ops/loss.hpp"

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

}  // namespace

Tensor cross_entropy(Trace& t, const Tensor& given, const Tensor& ids) {
  const Tensor logits = t.to_float32_under_autocast(given);
  Tensor log_probabilities;
  {
    const Ref<Node> node = t.node(Op::log_softmax, log_softmax_back, {&logits});
    if (node) node->numbers = {static_cast<Count>(logits.dtype)};
    log_probabilities = t.allocate(logits.dtype, logits.shape());
    t.launch(Op::log_softmax, logits.dtype, {&logits}, {&log_probabilities}).elementwise = log_softmax_flops * logits.elements();
    t.keep(node, log_probabilities);
    t.produced(node, log_probabilities);
  }
  const Ref<Node> node = t.node(Op::nll_loss, nll_back, {&log_probabilities});
  t.keep(node, log_probabilities);
  t.keep(node, ids);
  Tensor loss = t.allocate(logits.dtype, Dims{});
  const Tensor weight = t.allocate(logits.dtype, Dims{});
  t.launch(Op::nll_loss, logits.dtype, {&ids}, {&loss, &weight});
  t.keep(node, weight);
  t.produced(node, loss);
  return loss;
}

}  // namespace llmcalc
