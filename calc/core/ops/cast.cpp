#include "core/ops/cast.hpp"

namespace llmcalc {
namespace {

// The gradient goes back as it is; the engine casts it to the input's dtype.
Tensors pass_through(Trace&, const Node&, const Tensors&, const Tensors& gradients) { return {gradients[0]}; }

Tensor copied(Trace& t, Op op, const Tensor& x, DType dtype, const Layout& layout) {
  const Ref<Node> node = t.node(op, pass_through, {&x});
  Tensor y = t.allocate(dtype, layout);
  t.launch(op, dtype, {&x}, {&y});
  t.produced(node, y);
  return y;
}

}  // namespace

Tensor cast(Trace& t, const Tensor& x, DType dtype) {
  if (x.dtype == dtype) return x;
  return copied(t, Op::cast, x, dtype, {x.shape(), strides_like(x.layout), 0});
}

Tensor copy(Trace& t, const Tensor& x) { return copied(t, Op::copy, x, x.dtype, Layout::contiguous(x.shape())); }

Tensor contiguous(Trace& t, const Tensor& x) { return x.layout.is_contiguous() ? x : copy(t, x); }

}  // namespace llmcalc
