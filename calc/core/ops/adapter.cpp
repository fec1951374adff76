#include "core/ops/adapter.hpp"

#include "core/adapters.hpp"
#include "core/ops/cast.hpp"
#include "core/ops/elementwise.hpp"
#include "core/ops/matmul.hpp"
#include "core/ops/normalise.hpp"
#include "core/ops/views.hpp"

namespace llmcalc {
namespace {

Tensor unpacked(Trace& t, const Tensor& weight, DType computes) {
  Tensor whole = t.allocate(computes, weight.shape());
  Launch& launch = t.launch(Op::cast, computes, {}, {&whole});
  launch.read = packed_4bit(whole.elements());
  launch.elementwise = whole.elements();
  return whole;
}

Tensor product_with(Trace& t, const Tensor& x, const Tensor& whole, bool turned) {
  const Tensor rows = view(t, x, {x.elements() / x.size(-1), x.size(-1)});
  const Tensor y = mm(t, rows, turned ? transpose(t, whole, 0, 1) : whole);
  Dims shape = x.shape();
  shape[shape.rank() - 1] = y.size(1);
  return view(t, y, shape);
}

// kept[0] is the packed weight, a parameter.
Tensors packed_back(Trace& t, const Node& node, const Tensors& kept, const Tensors& g) {
  const Tensor whole = unpacked(t, kept[0], static_cast<DType>(node.numbers[0]));
  const bool stored_in_out = node.numbers[1] != 0;
  return {product_with(t, g[0], whole, stored_in_out)};
}

}  // namespace

const AdapterLeaf* adapter_of(const Trace& t, const Tensor& weight) {
  if (weight.parameter < 0 || static_cast<std::size_t>(weight.parameter) >= t.adapters.size()) return nullptr;
  const AdapterLeaf& adapter = t.adapters[static_cast<std::size_t>(weight.parameter)];
  return adapter.a >= 0 || adapter.computes ? &adapter : nullptr;
}

Tensor packed_linear(Trace& t, const Tensor& input, const Tensor& weight, bool stored_in_out, DType computes) {
  const Tensor x = cast(t, input, computes);
  const Ref<Node> node = t.node(Op::mm, packed_back, {&x});
  if (node) node->numbers = {static_cast<Count>(computes), stored_in_out};
  t.keep(node, weight);
  Tensor y;
  {
    const Trace::NoGrad no_grad(t);
    const Tensor whole = unpacked(t, weight, computes);
    y = product_with(t, reshape(t, x, x.shape()), whole, !stored_in_out);
  }
  t.produced(node, y);
  return y;
}

Tensor with_low_rank(Trace& t, const Tensor& y, const Tensor& input, const AdapterLeaf& adapter, bool stored_in_out) {
  Tensor a = t.parameter(adapter.a), b = t.parameter(adapter.b);
  if (stored_in_out) std::swap(a, b);
  const Trace::Scope scope(t, "lora");
  Tensor x = cast(t, input, a.dtype);
  x = dropout(t, x, adapter.dropout);
  const auto product = [&](const Tensor& left, const Tensor& weight) {
    const Tensor low = t.to_autocast(left), low_weight = t.to_autocast(weight);
    return matmul(t, low, stored_in_out ? low_weight : transpose(t, low_weight, 0, 1));
  };
  Tensor low_rank = product(x, a);
  low_rank = product(low_rank, b);
  low_rank = mul(t, low_rank, 1.0);
  return cast(t, add(t, y, low_rank), y.dtype);
}

}  // namespace llmcalc
