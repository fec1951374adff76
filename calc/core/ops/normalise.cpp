#include "core/ops/normalise.hpp"

#include "core/ops/cast.hpp"
#include "core/ops/elementwise.hpp"

namespace llmcalc {
namespace {

constexpr Count softmax_flops = 5;     // an element: compare, subtract, exponentiate, add up, divide
constexpr Count layer_norm_flops = 7;  // an element: two sums, subtract, square, scale, weight, bias

// One kernel; the gradient has the dtype of the input (node.numbers[0]).
Tensors softmax_back(Trace& t, const Node& node, const Tensors& kept, const Tensors& g) {
  Tensor gradient = t.allocate(static_cast<DType>(node.numbers[0]), g[0].shape());
  t.launch(Op::softmax, g[0].dtype, {&g[0], &kept[0]}, {&gradient}).elementwise = 4 * gradient.elements();
  return {gradient};
}

Tensors dropout_back(Trace& t, const Node&, const Tensors& kept, const Tensors& g) {
  Tensor gradient = t.allocate(g[0].dtype, {g[0].shape(), strides_like(g[0].layout), 0});
  t.launch(Op::dropout, g[0].dtype, {&g[0], &kept[0]}, {&gradient}).elementwise = 2 * gradient.elements();
  return {gradient};
}

Tensors layer_norm_back(Trace& t, const Node& node, const Tensors& kept, const Tensors& g) {
  const Tensor& x = kept[0];
  Tensors out(3);
  out[0] = t.allocate(x.dtype, x.shape());
  for (std::size_t i = 1; i < 3; ++i)
    if (node.needs(i)) out[i] = t.allocate(x.dtype, {x.size(-1)});
  const Tensor &mean = kept[kept.size() - 2], &rstd = kept.back();
  t.launch(Op::layer_norm, x.dtype, {&g[0], &x, &mean, &rstd}, {&out[0]}).elementwise =
      2 * layer_norm_flops * x.elements();
  return out;
}

}  // namespace

Tensor softmax(Trace& t, const Tensor& input, std::optional<DType> dtype) {
  // CUDA has a kernel that reads float16 and writes float32; any other conversion is a copy first.
  const bool converts_inside = dtype == DType::float32 && input.dtype == DType::float16;
  const Tensor x = converts_inside ? input : dtype ? cast(t, input, *dtype) : t.to_float32_under_autocast(input);
  const Ref<Node> node = t.node(Op::softmax, softmax_back, {&x});
  if (node) node->numbers = {static_cast<Count>(x.dtype)};
  Tensor y = t.allocate(dtype.value_or(x.dtype), x.shape());
  t.launch(Op::softmax, y.dtype, {&x}, {&y}).elementwise = softmax_flops * x.elements();
  t.keep(node, y);
  t.produced(node, y);
  return y;
}

Tensor safe_softmax(Trace& t, const Tensor& x) {
  const Ref<Node> node = t.node(Op::softmax, softmax_back, {&x});
  if (node) node->numbers = {static_cast<Count>(x.dtype)};
  Dims rows = x.shape();
  rows[rows.rank() - 1] = 1;
  const Tensor plain = t.allocate(x.dtype, x.shape());
  t.launch(Op::softmax, x.dtype, {&x}, {&plain}).elementwise = softmax_flops * x.elements();
  const Tensor masked = t.allocate(DType::boolean, x.shape()), masked_rows = t.allocate(DType::boolean, rows);
  t.launch(Op::where, DType::boolean, {&x}, {&masked});
  t.launch(Op::where, DType::boolean, {&masked}, {&masked_rows});
  Tensor y = pointwise(t, Op::where, {&plain, &masked_rows});
  t.keep(node, y);
  t.produced(node, y);
  return y;
}

Tensor dropout(Trace& t, const Tensor& x, double rate) {
  if (rate == 0) return x;
  const Ref<Node> node = t.node(Op::dropout, dropout_back, {&x});
  const Layout layout{x.shape(), strides_like(x.layout), 0};
  Tensor y = t.allocate(x.dtype, layout);
  Tensor mask = t.allocate(DType::boolean, layout);
  t.launch(Op::dropout, x.dtype, {&x}, {&y, &mask}).elementwise = 2 * x.elements();
  t.keep(node, mask);
  t.produced(node, y);
  return y;
}

Tensor layer_norm(Trace& t, const Tensor& input, const Tensor* given_weight, const Tensor* given_bias) {
  const Tensor x = t.to_float32_under_autocast(input);
  const Tensor none;
  const Tensor weight = given_weight ? t.to_float32_under_autocast(*given_weight) : none;
  const Tensor bias = given_bias ? t.to_float32_under_autocast(*given_bias) : none;
  const Ref<Node> node = t.node(Op::layer_norm, layer_norm_back, {&x, &weight, &bias});
  t.keep(node, x);
  if (weight.defined()) t.keep(node, weight);
  if (bias.defined()) t.keep(node, bias);
  Dims rows = x.shape();
  rows[rows.rank() - 1] = 1;
  Tensor y = t.allocate(x.dtype, x.shape());
  Tensor mean = t.allocate(DType::float32, rows), rstd = t.allocate(DType::float32, rows);
  t.launch(Op::layer_norm, x.dtype, {&x}, {&y, &mean, &rstd}).elementwise = layer_norm_flops * x.elements();
  t.keep(node, mean);
  t.keep(node, rstd);
  t.produced(node, y);
  return y;
}

}  // namespace llmcalc
