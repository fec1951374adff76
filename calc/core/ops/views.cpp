#include "core/ops/views.hpp"

#include <stdexcept>

#include "core/ops/cast.hpp"
#include "core/ops/data.hpp"
#include "core/ops/elementwise.hpp"

namespace llmcalc {
namespace {

int axis_of(const Tensor& x, int axis) { return axis < 0 ? axis + x.rank() : axis; }

Tensor seen_as(const Tensor& x, const Layout& layout) {
  Tensor y = x;
  y.layout = layout;
  y.is_view = true;
  y.parameter = -1;
  y.grad_fn = {};
  y.requires_grad = false;
  return y;
}

Tensor view_node(Trace& t, Op op, BackwardFn backward, const Tensor& x, const Layout& layout,
                 Few<Count, 4> numbers = {}) {
  const Ref<Node> node = t.node(op, backward, {&x});
  Tensor y = seen_as(x, layout);
  if (node) {
    node->shape = x.shape();
    node->numbers = std::move(numbers);
  }
  t.produced(node, y);
  return y;
}

Tensors reshape_back(Trace& t, const Node& node, const Tensors&, const Tensors& g) {
  return {reshape(t, g[0], node.shape)};
}

Tensors transpose_back(Trace& t, const Node& node, const Tensors&, const Tensors& g) {
  return {transpose(t, g[0], static_cast<int>(node.numbers[0]), static_cast<int>(node.numbers[1]))};
}

Tensors permute_back(Trace& t, const Node& node, const Tensors&, const Tensors& g) {
  std::vector<int> inverse(node.numbers.size());
  for (std::size_t i = 0; i < node.numbers.size(); ++i)
    inverse[static_cast<std::size_t>(node.numbers[i])] = static_cast<int>(i);
  return {permute(t, g[0], inverse)};
}

Tensors expand_back(Trace& t, const Node& node, const Tensors&, const Tensors& g) {
  return {sum_to(t, g[0], node.shape)};
}

// Zeros of the input's shape with the gradient copied into its place.
Tensors scatter_back(Trace& t, const Node& node, const Tensors&, const Tensors& g) {
  Tensor zeros = t.allocate(g[0].dtype, node.shape);
  t.launch(Op::fill, zeros.dtype, {}, {&zeros});
  t.launch(Op::copy, zeros.dtype, {&g[0]}, {&g[0]});
  return {zeros};
}

Tensors split_back(Trace& t, const Node& node, const Tensors&, const Tensors& g) {
  Tensors pieces;
  for (std::size_t i = 0; i < g.size(); ++i) {
    if (g[i].defined()) {
      pieces.push_back(g[i]);
      continue;
    }
    Tensor zeros = t.allocate(node.outputs[i].dtype, node.outputs[i].shape);
    t.launch(Op::fill, zeros.dtype, {}, {&zeros});
    pieces.push_back(zeros);
  }
  return {cat(t, pieces, static_cast<int>(node.numbers[0]))};
}

}  // namespace

Tensor view(Trace& t, const Tensor& x, const Dims& shape) {
  const std::optional<Layout> layout = view(x.layout, shape);
  if (!layout)
    throw std::invalid_argument("a tensor of shape " + to_string(x.shape()) + " and strides " +
                                to_string(x.layout.stride) + " cannot be viewed as " + to_string(shape));
  return view_node(t, Op::view, reshape_back, x, *layout);
}

Tensor reshape(Trace& t, const Tensor& x, const Dims& shape) {
  if (view(x.layout, shape)) return view(t, x, shape);
  return view(t, copy(t, x), shape);
}

Tensor transpose(Trace& t, const Tensor& x, int a, int b) {
  a = axis_of(x, a);
  b = axis_of(x, b);
  return view_node(t, Op::transpose, transpose_back, x, transpose(x.layout, a, b), {a, b});
}

Tensor permute(Trace& t, const Tensor& x, const std::vector<int>& order) {
  Few<Count, 4> numbers;
  for (const int axis : order) numbers.push_back(axis);
  return view_node(t, Op::permute, permute_back, x, permute(x.layout, order), numbers);
}

Tensor expand(Trace& t, const Tensor& x, const Dims& shape) {
  if (x.shape() == shape) return view_node(t, Op::expand, expand_back, x, x.layout);
  return view_node(t, Op::expand, expand_back, x, expand(x.layout, shape));
}

Tensor unsqueeze(Trace& t, const Tensor& x, int axis) {
  if (axis < 0) axis += x.rank() + 1;
  return view_node(t, Op::view, reshape_back, x, unsqueeze(x.layout, axis));
}

Tensor squeeze(Trace& t, const Tensor& x, int axis) {
  return view_node(t, Op::view, reshape_back, x, squeeze(x.layout, axis_of(x, axis)));
}

Tensor slice(Trace& t, const Tensor& x, int axis, Count start, Count length, Count step) {
  return view_node(t, Op::slice, scatter_back, x, slice(x.layout, axis_of(x, axis), start, length, step));
}

Tensor select(Trace& t, const Tensor& x, int axis, Count index) {
  return view_node(t, Op::select, scatter_back, x, select(x.layout, axis_of(x, axis), index));
}

Tensors split(Trace& t, const Tensor& x, const std::vector<Count>& lengths, int axis) {
  axis = axis_of(x, axis);
  const Ref<Node> node = t.node(Op::split, split_back, {&x});
  if (node) node->numbers = {axis};
  Tensors pieces;
  Count start = 0;
  for (const Count length : lengths) {
    Tensor piece = seen_as(x, slice(x.layout, axis, start, length));
    t.produced(node, piece);
    pieces.push_back(std::move(piece));
    start += length;
  }
  return pieces;
}

Tensors chunk(Trace& t, const Tensor& x, Count n, int axis) {
  return split(t, x, std::vector<Count>(static_cast<std::size_t>(n), x.size(axis) / n), axis);
}

}  // namespace llmcalc
