#include "core/ops/fused.hpp"

#include "core/ops/normalise.hpp"

namespace llmcalc {
namespace {

constexpr Count rms_norm_flops = 5;    // an element: square, sum, scale, weight, round
constexpr Count activation_flops = 5;  // an element: exponentiate, add, divide, two products

Tensors rms_norm_back(Trace& t, const Node& node, const Tensors& kept, const Tensors& g) {
  const Tensor& x = kept[0];
  Tensors out(2);
  out[0] = t.allocate(x.dtype, x.shape());
  if (node.needs(1)) out[1] = t.allocate(static_cast<DType>(node.numbers[0]), {x.size(-1)});
  t.launch(Op::rms_norm, x.dtype, {&g[0], &x, &kept[1]}, {&out[0]}).elementwise = 2 * rms_norm_flops * x.elements();
  return out;
}

Tensors gated_back(Trace& t, const Node&, const Tensors& kept, const Tensors& g) {
  t.launch(Op::gated_activation, g[0].dtype, {&g[0], &kept[0], &kept[1]}, {&kept[0], &kept[1]}).elementwise =
      2 * activation_flops * g[0].elements();
  return kept;
}

}  // namespace

Tensor rms_norm_kernel(Trace& t, const Tensor& x, const Tensor* weight) {
  const Tensor none;
  const Ref<Node> node = t.node(Op::rms_norm, rms_norm_back, {&x, weight ? weight : &none});
  if (node) node->numbers = {static_cast<Count>(weight ? weight->dtype : x.dtype)};
  Tensor y = t.allocate(x.dtype, x.shape());
  const Tensor scales = t.allocate(DType::float32, {x.elements() / x.size(-1)});
  t.launch(Op::rms_norm, x.dtype, {&x}, {&y, &scales}).elementwise = rms_norm_flops * x.elements();
  t.keep(node, x);
  t.keep(node, scales);
  t.produced(node, y);
  return y;
}

Tensor gated_activation(Trace& t, const Tensor& gate, const Tensor& up) {
  const Ref<Node> node = t.node(Op::gated_activation, gated_back, {&gate, &up});
  Tensor y = t.allocate(gate.dtype, gate.shape());
  t.launch(Op::gated_activation, gate.dtype, {&gate, &up}, {&y}).elementwise = activation_flops * y.elements();
  t.keep(node, gate);
  t.keep(node, up);
  t.produced(node, y);
  return y;
}

Tensor masked_softmax(Trace& t, const Tensor& scores) { return softmax(t, scores, scores.dtype); }

}  // namespace llmcalc
