#include "core/ops/experts.hpp"

#include <stdexcept>

#include "core/ops/elementwise.hpp"
#include "core/ops/views.hpp"

namespace llmcalc {
namespace {

// Zeros of the input's shape with the gradient written to the places kept.
Tensors scatter_back(Trace& t, const Node& node, const Tensors& kept, const Tensors& g) {
  Tensor zeros = t.allocate(g[0].dtype, node.shape);
  t.launch(Op::fill, zeros.dtype, {}, {&zeros});
  t.launch(Op::scatter, zeros.dtype, {&g[0], &kept[0]}, {&g[0]});
  return {zeros};
}

Tensors gather_back(Trace& t, const Node& node, const Tensors& kept, const Tensors& g) {
  Tensor gradient = t.allocate(g[0].dtype, node.shape);
  t.launch(Op::gather, g[0].dtype, {&kept[0], &gradient}, {&gradient});
  return {gradient};
}

Tensors struck_out_back(Trace& t, const Node&, const Tensors& kept, const Tensors& g) {
  Tensor gradient = t.allocate(g[0].dtype, g[0].shape());
  t.launch(Op::scatter, g[0].dtype, {&g[0], &kept[0]}, {&gradient});
  return {gradient};
}

Tensors sampled_gate_back(Trace& t, const Node&, const Tensors& kept, const Tensors& g) {
  const Tensor scaled = pointwise(t, Op::mul, {&g[0], &kept[0]});
  const Tensor negated = pointwise(t, Op::neg, {&scaled});
  const Tensor gradient = pointwise(t, Op::mul, {&kept[2], &negated});
  t.launch(Op::scatter, gradient.dtype, {&scaled, &kept[1]}, {&gradient});
  return {gradient};
}

Tensors sum_back(Trace& t, const Node& node, const Tensors&, const Tensors& g) {
  Tensor gradient = g[0];
  if (node.numbers[0] >= 0) gradient = unsqueeze(t, gradient, static_cast<int>(node.numbers[0]));
  return {expand(t, gradient, node.shape)};
}

// grad / divisor, and -grad * ((x / divisor) / divisor).
Tensors div_back(Trace& t, const Node& node, const Tensors& kept, const Tensors& g) {
  Tensors out(2);
  out[0] = pointwise(t, Op::div, {&g[0], &kept[0]});
  if (node.needs(1)) {
    const Tensor negated = pointwise(t, Op::neg, {&g[0]});
    const Tensor quotient = pointwise(t, Op::div, {&kept[1], &kept[0]});
    const Tensor again = pointwise(t, Op::div, {&quotient, &kept[0]});
    out[1] = pointwise(t, Op::mul, {&negated, &again});
  }
  return out;
}

Tensor grouped(Trace& t, const Tensor& a, const Tensor& b, const Dims& shape, Count m, Count n, Count k) {
  Tensor y = t.allocate(a.dtype, shape);
  Launch& launch = t.launch(Op::grouped_mm, a.dtype, {&a, &b}, {&y});
  launch.batch = 1;
  launch.m = m;
  launch.n = n;
  launch.k = k;
  return y;
}

Tensors grouped_back(Trace& t, const Node& node, const Tensors& kept, const Tensors& g) {
  const Tensor &rows = kept[0], &weight = kept[1];
  const Count s = rows.size(0), in = weight.size(1), out = weight.size(2);
  Tensors gradients(2);
  if (node.needs(0)) gradients[0] = grouped(t, g[0], weight, {s, in}, s, in, out);
  if (node.needs(1)) {
    // In the layout of the weight: a transposed view gets its gradient transposed.
    const bool transposed = weight.layout.stride[1] == 1;
    const Count experts = weight.size(0);
    gradients[1] = transposed ? transpose(t, grouped(t, g[0], rows, {experts, out, in}, out, in, s), 1, 2)
                              : grouped(t, rows, g[0], {experts, in, out}, in, out, s);
  }
  return gradients;
}

Tensor picked(Trace& t, Op op, const Ref<Node>& node, const Tensor& x, const Tensor& indices, const Dims& shape) {
  if (node) node->shape = x.shape();
  Tensor y = t.allocate(x.dtype, shape);
  t.launch(op, x.dtype, {&indices}, {&y}).read += y.bytes();
  t.produced(node, y);
  return y;
}

}  // namespace

TopK topk(Trace& t, const Tensor& x, Count k) {
  if (k > x.size(-1))
    throw std::invalid_argument("the " + std::to_string(k) + " largest of " + std::to_string(x.size(-1)));
  const Ref<Node> node = t.node(Op::topk, scatter_back, {&x});
  if (node) node->shape = x.shape();
  Dims shape = x.shape();
  shape[shape.rank() - 1] = k;
  TopK top{t.allocate(x.dtype, shape), t.allocate(DType::int64, shape)};
  t.launch(Op::topk, x.dtype, {&x}, {&top.values, &top.indices}).elementwise = x.elements();
  t.keep(node, top.indices);
  t.produced(node, top.values);
  return top;
}

Tensor gather_last(Trace& t, const Tensor& x, const Tensor& indices) {
  const Ref<Node> node = t.node(Op::gather, scatter_back, {&x});
  t.keep(node, indices);
  t.keep(node, x);
  return picked(t, Op::gather, node, x, indices, indices.shape());
}

Tensor scattered(Trace& t, const Tensor& values, const Tensor& indices, Count length) {
  const Ref<Node> node = t.node(Op::scatter, gather_back, {&values});
  t.keep(node, indices);
  return picked(t, Op::scatter, node, values, indices, {values.size(0), length});
}

Tensor struck_out(Trace& t, const Tensor& x, const Tensor& indices) {
  const Ref<Node> node = t.node(Op::scatter, struck_out_back, {&x});
  t.keep(node, indices);
  Tensor y = t.allocate(x.dtype, x.shape());
  t.launch(Op::scatter, x.dtype, {&x, &indices}, {&y});
  t.produced(node, y);
  return y;
}

Tensor sampled_gate(Trace& t, const Tensor& scores, const Tensor& factor, const Tensor& indices, const Tensor& gates) {
  const Ref<Node> node = t.node(Op::gather, sampled_gate_back, {&scores});
  Tensor y = pointwise(t, Op::mul, {&factor});
  t.keep(node, factor);
  t.keep(node, indices);
  t.keep(node, gates);
  t.produced(node, y);
  return y;
}

Tensor rows_at(Trace& t, const Tensor& x, const Tensor& indices) {
  const Ref<Node> node = t.node(Op::index, scatter_back, {&x});
  t.keep(node, indices);
  Dims shape = x.shape();
  shape[0] = indices.size(0);
  return picked(t, Op::index, node, x, indices, shape);
}

namespace {

Tensor summed(Trace& t, const Tensor& x, const Dims& shape, Count lost_axis) {
  const Ref<Node> node = t.node(Op::sum, sum_back, {&x});
  if (node) {
    node->shape = x.shape();
    node->numbers = {lost_axis};
  }
  // Under autocast 16-bit inputs are summed, and come out, in float32.
  const bool widens = t.autocast_on() && size_of(x.dtype) == Bytes(2);
  Tensor y = t.allocate(widens ? DType::float32 : x.dtype, shape);
  t.launch(Op::sum, y.dtype, {&x}, {&y}).elementwise = x.elements();
  t.produced(node, y);
  return y;
}

}  // namespace

Tensor sum_last(Trace& t, const Tensor& x, bool keeps_axis) {
  Dims shape = x.shape();
  if (keeps_axis) {
    shape[shape.rank() - 1] = 1;
    return summed(t, x, shape, -1);
  }
  shape.resize(shape.rank() - 1);
  return summed(t, x, shape, x.rank() - 1);
}

Tensor sum_axis_0(Trace& t, const Tensor& x) { return summed(t, x, {x.size(1), x.size(2)}, 0); }
Tensor sum_axis_1(Trace& t, const Tensor& x) { return summed(t, x, {x.size(0), x.size(2)}, 1); }

Tensor div_in_place(Trace& t, const Tensor& x, const Tensor& divisor) {
  const Ref<Node> node = t.node(Op::div, div_back, {&x, &divisor});
  t.keep(node, divisor);
  if (node && node->needs(1)) {
    Tensor before = t.allocate(x.dtype, {x.shape(), strides_like(x.layout), 0});
    t.launch(Op::copy, x.dtype, {&x}, {&before});
    t.keep(node, before);
  }
  Tensor y = x;
  y.grad_fn = {};
  y.requires_grad = false;
  t.launch(Op::div, x.dtype, {&x, &divisor}, {&y}).elementwise = x.elements();
  t.produced(node, y);
  return y;
}

Tensor grouped_mm(Trace& t, const Tensor& rows, const Tensor& weight, const Tensor& offsets) {
  if (rows.size(1) != weight.size(1))
    throw std::invalid_argument("grouped product: " + to_string(rows.shape()) + " x " + to_string(weight.shape()));
  const Ref<Node> node = t.node(Op::grouped_mm, grouped_back, {&rows, &weight});
  t.keep(node, rows);
  t.keep(node, weight);
  t.keep(node, offsets);
  Tensor y = grouped(t, rows, weight, {rows.size(0), weight.size(2)}, rows.size(0), weight.size(2), rows.size(1));
  t.produced(node, y);
  return y;
}

}  // namespace llmcalc
