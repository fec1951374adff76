#include "core/ops/select.hpp"

#include "core/ops/elementwise.hpp"

namespace llmcalc {
namespace {

Tensors with_kept_back(Trace& t, const Node& node, const Tensors& kept, const Tensors& g) {
  return {pointwise(t, node.op, {&g[0], &kept[0]}, 2)};
}

Tensors scaled_back(Trace& t, const Node& node, const Tensors&, const Tensors& g) {
  return {pointwise(t, node.op, {&g[0]})};
}

// The gradient where the condition holds, and where it does not.
Tensors where_back(Trace& t, const Node& node, const Tensors& kept, const Tensors& g) {
  Tensors out(2);
  for (std::size_t i = 0; i < 2; ++i) {
    if (!node.needs(i)) continue;
    out[i] = t.allocate(g[0].dtype, g[0].shape());
    t.launch(Op::where, g[0].dtype, {&g[0], &kept[0]}, {&out[i]});
  }
  return out;
}

Tensors masked_fill_back(Trace& t, const Node&, const Tensors&, const Tensors& g) {
  return {pointwise(t, Op::where, {&g[0]})};
}

Tensors index_back(Trace& t, const Node& node, const Tensors& kept, const Tensors& g) {
  Tensor zeros = t.allocate(g[0].dtype, node.shape);
  t.launch(Op::fill, zeros.dtype, {}, {&zeros});
  t.launch(Op::index, zeros.dtype, {&g[0], &kept[0]}, {&g[0]});
  return {zeros};
}

Tensors same_back(Trace&, const Node&, const Tensors&, const Tensors& g) { return {g[0], g[0]}; }

Tensor keeps_input(Trace& t, Op op, const Tensor& x, Count flops = 1) {
  const Ref<Node> node = t.node(op, with_kept_back, {&x});
  t.keep(node, x);
  Tensor y = pointwise(t, op, {&x}, flops);
  t.produced(node, y);
  return y;
}

Tensor keeps_output(Trace& t, Op op, const Tensor& x) {
  const Ref<Node> node = t.node(op, with_kept_back, {&x});
  Tensor y = pointwise(t, op, {&x});
  t.keep(node, y);
  t.produced(node, y);
  return y;
}

// The result takes over the storage of `a`.
Tensor overwritten(Trace& t, Op op, const Ref<Node>& node, const Tensor& a, const Tensor* b) {
  Tensor y = a;
  y.grad_fn = {};
  y.requires_grad = false;
  Launch& launch = b ? t.launch(op, a.dtype, {&a, b}, {&y}) : t.launch(op, a.dtype, {&a}, {&y});
  launch.elementwise = a.elements();
  t.produced(node, y);
  return y;
}

}  // namespace

Tensor clamp(Trace& t, const Tensor& x) { return keeps_input(t, Op::clamp, x); }
Tensor minimum(Trace& t, const Tensor& x) { return keeps_input(t, Op::clamp, x); }
Tensor expm1(Trace& t, const Tensor& x) { return keeps_output(t, Op::exp, t.to_float32_under_autocast(x)); }
Tensor softplus(Trace& t, const Tensor& x) { return keeps_input(t, Op::softplus, t.to_float32_under_autocast(x), 2); }
Tensor sqrt(Trace& t, const Tensor& x) { return keeps_output(t, Op::sqrt, x); }

Tensor greater(Trace& t, const Tensor& x) {
  Tensor y = t.allocate(DType::boolean, {x.shape(), strides_like(x.layout), 0});
  t.launch(Op::where, DType::boolean, {&x}, {&y});
  return y;
}

Tensor where(Trace& t, const Tensor& condition, const Tensor& a, const Tensor& b) {
  const Ref<Node> node = t.node(Op::where, where_back, {&a, &b});
  t.keep(node, condition);
  Tensor y = pointwise(t, Op::where, {&a, &b});
  t.produced(node, y);
  return y;
}

Tensor masked_fill(Trace& t, const Tensor& x, const Tensor* mask) {
  const Ref<Node> node = t.node(Op::where, masked_fill_back, {&x});
  if (mask) t.keep(node, *mask);
  Tensor y = pointwise(t, Op::where, {&x});
  t.produced(node, y);
  return y;
}

Tensor max_last(Trace& t, const Tensor& x) {
  const Ref<Node> node = t.node(Op::max, index_back, {&x});
  if (node) node->shape = x.shape();
  Dims shape = x.shape();
  shape[shape.rank() - 1] = 1;
  Tensor y = t.allocate(x.dtype, shape), indices = t.allocate(DType::int64, shape);
  t.launch(Op::max, x.dtype, {&x}, {&y, &indices}).elementwise = x.elements();
  t.keep(node, indices);
  t.produced(node, y);
  return y;
}

Tensor index_one(Trace& t, const Tensor& x, int axis, Count) {
  const Ref<Node> node = t.node(Op::index, index_back, {&x});
  if (node) node->shape = x.shape();
  const Tensor index = t.allocate(DType::int64, Dims{1});
  t.keep(node, index);
  Dims shape = x.shape();
  shape[axis < 0 ? axis + x.rank() : axis] = 1;
  Tensor y = t.allocate(x.dtype, shape);
  t.launch(Op::index, x.dtype, {&y, &index}, {&y});
  t.produced(node, y);
  return y;
}

Tensor add_in_place(Trace& t, const Tensor& a, const Tensor& b) {
  return overwritten(t, Op::add, t.node(Op::add, same_back, {&a, &b}), a, &b);
}

Tensor div_in_place(Trace& t, const Tensor& x, double) {
  return overwritten(t, Op::div, t.node(Op::div, scaled_back, {&x}), x, nullptr);
}

}  // namespace llmcalc
