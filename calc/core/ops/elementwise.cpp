#include "core/ops/elementwise.hpp"

#include "core/ops/views.hpp"

namespace llmcalc {
namespace {

// A result of `dtype` in the layout PyTorch gives it, and the launch that makes it.
Tensor result_of(Trace& t, Op op, DType dtype, const Few<const Tensor*, 4>& operands, Count flops) {
  Dims shape = operands.front()->shape();
  Few<const Layout*, 4> layouts;
  for (const Tensor* x : operands) {
    if (x->shape() != shape) shape = broadcast(shape, x->shape());
    layouts.push_back(&x->layout);
  }
  Tensor y = t.allocate(dtype, Layout{shape, elementwise_strides(shape, layouts), 0});
  Launch& launch = t.launch(op, dtype, {}, {&y});
  launch.elementwise = checked::multiply(flops, y.elements());
  for (const Tensor* x : operands) launch.read += x->bytes();
  return y;
}

Tensor unary(Trace& t, Op op, BackwardFn backward, const Tensor& x, bool keeps_input, bool keeps_output,
             Count flops = 1, Few<Count, 4> numbers = {}) {
  const Ref<Node> node = t.node(op, backward, {&x});
  if (node) node->numbers = std::move(numbers);
  if (keeps_input) t.keep(node, x);
  Tensor y = result_of(t, op, x.dtype, {&x}, flops);
  if (keeps_output) t.keep(node, y);
  t.produced(node, y);
  return y;
}

Tensors one_kernel_back(Trace& t, const Node& node, const Tensors& kept, const Tensors& g) {
  return {pointwise(t, node.op, {&g[0], &kept[0]}, 2)};
}

Tensors same_back(Trace&, const Node&, const Tensors&, const Tensors& g) { return {g[0], g[0]}; }

Tensors scale_back(Trace& t, const Node& node, const Tensors&, const Tensors& g) {
  return {pointwise(t, node.op, {&g[0]})};
}

Tensors sub_back(Trace& t, const Node& node, const Tensors&, const Tensors& g) {
  Tensor negated;
  if (node.needs(1)) negated = pointwise(t, Op::neg, {&g[0]});
  return {g[0], negated};
}

Tensors mul_back(Trace& t, const Node& node, const Tensors& kept, const Tensors& g) {
  // Kept are the factors that are needed: the second for the first's gradient, then the first for the second's.
  std::size_t next = 0;
  Tensors out(2);
  if (node.needs(0)) out[0] = pointwise(t, Op::mul, {&g[0], &kept[next++]});
  if (node.needs(1)) out[1] = pointwise(t, Op::mul, {&g[0], &kept[next]});
  return out;
}

// grad / b, and -grad * ((a / b) / b).
Tensors div_back(Trace& t, const Node& node, const Tensors& kept, const Tensors& g) {
  Tensors out(2);
  const Tensor& divisor = kept[0];
  if (node.needs(0)) out[0] = pointwise(t, Op::div, {&g[0], &divisor});
  if (node.needs(1)) {
    const Tensor negated = pointwise(t, Op::neg, {&g[0]});
    const Tensor quotient = pointwise(t, Op::div, {&kept[1], &divisor});
    const Tensor again = pointwise(t, Op::div, {&quotient, &divisor});
    out[1] = pointwise(t, Op::mul, {&negated, &again});
  }
  return out;
}

// grad * (exponent * x^(exponent - 1)): both factors are alive with the product.
Tensors pow_back(Trace& t, const Node&, const Tensors& kept, const Tensors& g) {
  const Tensor power = pointwise(t, Op::pow, {&kept[0]});
  const Tensor scaled = pointwise(t, Op::mul, {&power});
  return {pointwise(t, Op::mul, {&g[0], &scaled})};
}

// -0.5 * grad * result^3.
Tensors rsqrt_back(Trace& t, const Node&, const Tensors& kept, const Tensors& g) {
  const Tensor scaled = pointwise(t, Op::mul, {&g[0]});
  const Tensor cubed = pointwise(t, Op::pow, {&kept[0]});
  return {pointwise(t, Op::mul, {&scaled, &cubed})};
}

// The gradient spread over the axis (a view), then divided by its length.
Tensors mean_back(Trace& t, const Node& node, const Tensors&, const Tensors& g) {
  const Tensor spread = expand(t, g[0], node.shape);
  return {pointwise(t, Op::div, {&spread})};
}

}  // namespace

Tensor pointwise(Trace& t, Op op, const Few<const Tensor*, 4>& operands, Count flops) {
  DType dtype = operands.front()->dtype;
  for (const Tensor* x : operands)
    if (x->rank() > 0) dtype = promote(dtype, x->dtype);
  return result_of(t, op, dtype, operands, flops);
}

Tensor add(Trace& t, const Tensor& a, const Tensor& b) {
  const Ref<Node> node = t.node(Op::add, same_back, {&a, &b});
  Tensor y = pointwise(t, Op::add, {&a, &b});
  t.produced(node, y);
  return y;
}

Tensor add(Trace& t, const Tensor& a, double) { return unary(t, Op::add, same_back, a, false, false); }

Tensor sub(Trace& t, const Tensor& a, const Tensor& b) {
  const Ref<Node> node = t.node(Op::sub, sub_back, {&a, &b});
  Tensor y = pointwise(t, Op::sub, {&a, &b});
  t.produced(node, y);
  return y;
}

Tensor mul(Trace& t, const Tensor& a, const Tensor& b) {
  const Ref<Node> node = t.node(Op::mul, mul_back, {&a, &b});
  if (node && node->needs(0)) t.keep(node, b);
  if (node && node->needs(1)) t.keep(node, a);
  Tensor y = pointwise(t, Op::mul, {&a, &b});
  t.produced(node, y);
  return y;
}

Tensor mul(Trace& t, const Tensor& a, double) { return unary(t, Op::mul, scale_back, a, false, false); }

Tensor div(Trace& t, const Tensor& a, const Tensor& b) {
  const Ref<Node> node = t.node(Op::div, div_back, {&a, &b});
  t.keep(node, b);
  if (node && node->needs(1)) t.keep(node, a);
  Tensor y = pointwise(t, Op::div, {&a, &b});
  t.produced(node, y);
  return y;
}

Tensor div(Trace& t, const Tensor& a, double) { return unary(t, Op::div, scale_back, a, false, false); }

Tensor neg(Trace& t, const Tensor& x) { return unary(t, Op::neg, scale_back, x, false, false); }

Tensor pow(Trace& t, const Tensor& x, double) {
  return unary(t, Op::pow, pow_back, t.to_float32_under_autocast(x), true, false);
}

Tensor rsqrt(Trace& t, const Tensor& x) {
  return unary(t, Op::rsqrt, rsqrt_back, t.to_float32_under_autocast(x), false, true);
}

Tensor tanh(Trace& t, const Tensor& x) { return unary(t, Op::tanh, one_kernel_back, x, false, true); }
Tensor sigmoid(Trace& t, const Tensor& x) { return unary(t, Op::sigmoid, one_kernel_back, x, false, true); }
Tensor relu(Trace& t, const Tensor& x) { return unary(t, Op::relu, one_kernel_back, x, false, true); }
// silu: x * sigmoid(x); gelu likewise: two operations an element.
Tensor silu(Trace& t, const Tensor& x) { return unary(t, Op::silu, one_kernel_back, x, true, false, 2); }
Tensor gelu(Trace& t, const Tensor& x) { return unary(t, Op::gelu, one_kernel_back, x, true, false, 2); }

Tensor mean_last(Trace& t, const Tensor& x) {
  const Ref<Node> node = t.node(Op::mean, mean_back, {&x});
  if (node) node->shape = x.shape();
  Dims shape = x.shape();
  shape[shape.rank() - 1] = 1;
  Tensor y = t.allocate(x.dtype, shape);
  t.launch(Op::mean, x.dtype, {&x}, {&y}).elementwise = x.elements();
  t.produced(node, y);
  return y;
}

Tensor sum_to(Trace& t, const Tensor& x, const Dims& shape) {
  if (x.shape() == shape) return x;
  Tensor y = t.allocate(x.dtype, shape);
  t.launch(Op::sum, x.dtype, {&x}, {&y}).elementwise = x.elements();
  return y;
}

}  // namespace llmcalc
