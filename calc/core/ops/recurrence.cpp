#include "core/ops/recurrence.hpp"

#include "core/ops/cast.hpp"
#include "core/ops/elementwise.hpp"

namespace llmcalc {
namespace {

// `per_token` FLOPs of products for each of `tokens`.
void count(Launch& launch, Count per_token, Count tokens) {
  launch.flops_per_pair = launch.model_flops_per_pair = per_token;
  launch.pairs.full_twice = launch.pairs.causal_twice = launch.pairs.exact_twice = checked::multiply<Count>(2, tokens);
}

// One kernel that makes the gradients of all operands: kept[0 .. inputs) are the operands in order.
Tensors gradients_of_kept(Trace& t, const Node& node, const Tensors& kept, const Tensors& g, Launch*& launch) {
  Tensors out(node.inputs.size());
  Bytes written;
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (!node.needs(i)) continue;
    out[i] = t.allocate(kept[i].dtype, {kept[i].shape(), strides_like(kept[i].layout), 0});
    written += out[i].bytes();
  }
  launch = &t.launch(node.op, g[0].dtype, {&g[0]}, {});
  launch->written = written;
  for (const Tensor& tensor : kept) launch->read += tensor.bytes();
  return out;
}

// Backward of a convolution or a scan: twice the products of forward. numbers: FLOPs of a token, tokens, element-wise.
Tensors products_back(Trace& t, const Node& node, const Tensors& kept, const Tensors& g) {
  Launch* launch = nullptr;
  Tensors out = gradients_of_kept(t, node, kept, g, launch);
  count(*launch, 2 * node.numbers[0], node.numbers[1]);
  launch->elementwise = 2 * node.numbers[2];
  return out;
}

Tensors gated_norm_back(Trace& t, const Node& node, const Tensors& kept, const Tensors& g) {
  Launch* launch = nullptr;
  Tensors out = gradients_of_kept(t, node, kept, g, launch);
  launch->elementwise = 2 * node.numbers[0];
  return out;
}

Tensors decay_back(Trace& t, const Node&, const Tensors& kept, const Tensors& g) {
  return {pointwise(t, Op::mul, {&g[0], &kept[0]})};
}

}  // namespace

Tensor causal_conv1d(Trace& t, const Tensor& given, const Tensor& given_weight, const Tensor* given_bias,
                     bool activates) {
  const Tensor x = t.to_autocast(given), weight = t.to_autocast(given_weight);
  const Tensor bias = given_bias ? t.to_autocast(*given_bias) : Tensor();
  Few<const Tensor*, 4> inputs{&x, &weight};
  if (given_bias) inputs.push_back(&bias);
  const Ref<Node> node = t.node(Op::convolution, products_back, inputs);
  const Count tokens = checked::multiply(x.size(0), x.size(1));
  const Count flops = checked::multiply<Count>(2, weight.elements());
  constexpr Count silu_flops = 2;
  const Count elementwise = activates ? checked::multiply(silu_flops, x.elements()) : 0;
  if (node) node->numbers = {flops, tokens, elementwise};
  for (const Tensor* input : inputs) t.keep(node, *input);
  Tensor y = t.allocate(x.dtype, x.shape());
  Launch& launch = t.launch(Op::convolution, x.dtype, {&x, &weight}, {&y});
  count(launch, flops, tokens);
  launch.elementwise = elementwise;
  t.produced(node, y);
  return y;
}

Tensor scan(Trace& t, const Recurrence& recurrence, const Tensors& operands, Count width) {
  Few<const Tensor*, 4> inputs;
  for (const Tensor& operand : operands) inputs.push_back(&operand);
  const Tensor& first = operands.front();
  const Ref<Node> node = t.node(Op::scan, products_back, inputs);
  const Count tokens = checked::multiply(first.size(0), first.size(1));
  const Count flops = checked::multiply<Count>(2 * recurrence.products, recurrence.state);
  const Count elementwise = checked::multiply(recurrence.elementwise, tokens);
  if (node) node->numbers = {flops, tokens, elementwise};
  for (const Tensor& operand : operands) t.keep(node, operand);
  Tensor y = t.allocate(first.dtype, {first.size(0), first.size(1), width});
  Launch& launch = t.launch(Op::scan, first.dtype, {}, {&y});
  count(launch, flops, tokens);
  launch.elementwise = elementwise;
  for (const Tensor& operand : operands) launch.read += operand.bytes();
  t.keep(node, y);
  if (recurrence.kept_states > 0) {
    const Tensor states = t.allocate(DType::float32, {first.size(0), recurrence.kept_states, recurrence.state});
    t.keep(node, states);
  }
  t.produced(node, y);
  return y;
}

Tensor decay_rates(Trace& t, const Tensor& log) {
  const Tensor x = cast(t, log, DType::float32);
  const Ref<Node> node = t.node(Op::exp, decay_back, {&x});
  Tensor y = pointwise(t, Op::exp, {&x}, 2);
  t.keep(node, y);
  t.produced(node, y);
  return y;
}

Tensor gated_rms_norm(Trace& t, const Tensor& x, const Tensor& gate, const Tensor& weight, Count size) {
  const Ref<Node> node = t.node(Op::rms_norm, gated_norm_back, {&x, &gate, &weight});
  constexpr Count flops = 8;  // square, mean, scale, weight; sigmoid of the gate and two products
  if (node) node->numbers = {checked::multiply(flops, x.elements())};
  t.keep(node, x);
  t.keep(node, gate);
  t.keep(node, weight);
  Tensor y = t.allocate(x.dtype, x.shape());
  const Tensor scale = t.allocate(DType::float32, {x.elements() / size});
  Launch& launch = t.launch(Op::rms_norm, x.dtype, {&x, &gate, &weight}, {&y, &scale});
  launch.elementwise = checked::multiply(flops, x.elements());
  t.keep(node, scale);
  t.produced(node, y);
  return y;
}

}  // namespace llmcalc
