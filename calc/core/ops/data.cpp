#include "core/ops/data.hpp"

#include "core/ops/cast.hpp"
#include "core/ops/views.hpp"

namespace llmcalc {
namespace {

// Each piece gets its part of the gradient as a view.
Tensors cat_back(Trace& t, const Node& node, const Tensors&, const Tensors& g) {
  Tensors out(node.inputs.size());
  Count start = 0;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const Count length = node.numbers[i + 1];
    if (node.needs(i)) out[i] = slice(t, g[0], static_cast<int>(node.numbers[0]), start, length);
    start += length;
  }
  return out;
}

Tensors embedding_back(Trace& t, const Node& node, const Tensors& kept, const Tensors& g) {
  Tensor gradient = t.allocate(g[0].dtype, node.shape);
  t.launch(Op::embedding, gradient.dtype, {&g[0], &kept[0]}, {&gradient}).elementwise = g[0].elements();
  return {gradient};
}

}  // namespace

Tensor cat(Trace& t, const Tensors& pieces, int axis) {
  if (axis < 0) axis += pieces.front().rank();
  DType dtype = pieces.front().dtype;
  for (const Tensor& piece : pieces) dtype = promote(dtype, piece.dtype);
  Tensors same;
  for (const Tensor& piece : pieces) same.push_back(cast(t, piece, dtype));
  Few<const Tensor*, 4> inputs;
  for (const Tensor& piece : same) inputs.push_back(&piece);
  const Ref<Node> node = t.node(Op::cat, cat_back, inputs);
  Dims shape = same.front().shape();
  shape[axis] = 0;
  if (node) node->numbers.push_back(axis);
  for (const Tensor& piece : same) {
    shape[axis] += piece.size(axis);
    if (node) node->numbers.push_back(piece.size(axis));
  }
  Tensor y = t.allocate(dtype, shape);
  t.launch(Op::cat, dtype, {}, {&y}).read = y.bytes();
  t.produced(node, y);
  return y;
}

Tensor embedding(Trace& t, const Tensor& ids, const Tensor& table) {
  const Ref<Node> node = t.node(Op::embedding, embedding_back, {&table});
  if (node) node->shape = table.shape();
  t.keep(node, ids);
  Dims shape = ids.shape();
  shape.push_back(table.size(1));
  Tensor y = t.allocate(table.dtype, shape);
  t.launch(Op::embedding, y.dtype, {&ids}, {&y}).read += y.bytes();  // one row of the table for each id
  t.produced(node, y);
  return y;
}

Tensor constant(Trace& t, DType dtype, const Dims& shape) {
  Tensor y = t.allocate(dtype, shape);
  t.launch(Op::fill, dtype, {}, {&y});
  return y;
}

}  // namespace llmcalc
