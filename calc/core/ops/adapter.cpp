#include "core/ops/adapter.hpp"

#include <optional>
#include <utility>

#include "core/adapters.hpp"
#include "core/ops/cast.hpp"
#include "core/ops/data.hpp"
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

// x (..., k) times a matrix, or times the matrix turned round.
Tensor product_with(Trace& t, const Tensor& x, const Tensor& whole, bool turned, const Tensor* bias = nullptr) {
  const Tensor rows = view(t, x, {x.elements() / x.size(-1), x.size(-1)});
  const Tensor right = turned ? transpose(t, whole, 0, 1) : whole;
  const Tensor y = bias ? addmm(t, *bias, rows, right) : mm(t, rows, right);
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

// A linear without bias: autocast, then the product.
Tensor unbiased(Trace& t, const Tensor& x, const Tensor& weight, bool stored_in_out) {
  const Tensor low = t.to_autocast(x), low_weight = t.to_autocast(weight);
  return matmul(t, low, stored_in_out ? low_weight : transpose(t, low_weight, 0, 1));
}

struct LowRank {
  Tensor a, b;
  bool stored_in_out;
};

LowRank low_rank_of(Trace& t, const AdapterLeaf& adapter, bool stored_in_out) {
  LowRank matrices{t.parameter(adapter.a), t.parameter(adapter.b), stored_in_out};
  if (stored_in_out) std::swap(matrices.a, matrices.b);
  return matrices;
}

Tensor through(Trace& t, const Tensor& x, const LowRank& matrices) {
  const Tensor low = unbiased(t, x, matrices.a, matrices.stored_in_out);
  return unbiased(t, low, matrices.b, matrices.stored_in_out);
}

// |W + s B A|, row by row, by way of PEFT: B A is the adapter of an identity matrix. That product's graph leads nowhere
// but lives as long as `alive`, what it would keep with it.
Tensor weight_norm(Trace& t, const FrozenLinear& layer, const AdapterLeaf& adapter, const LowRank& matrices,
                   DType dtype, Tensors& alive) {
  const LowRank low{t.to_autocast(matrices.a), t.to_autocast(matrices.b), matrices.stored_in_out};
  const Trace::NoGrad no_grad(t);
  Tensor both;
  {
    const Count in = low.a.size(matrices.stored_in_out ? 0 : 1);
    const Tensor eye = constant(t, matrices.a.dtype, {in, in});
    alive.push_back(t.to_autocast(eye));
    alive.push_back(unbiased(t, alive.back(), low.a, low.stored_in_out));
    both = transpose(t, unbiased(t, alive.back(), low.b, low.stored_in_out), 0, 1);
  }
  both = cast(t, both, dtype);
  alive.push_back(both);
  alive.push_back(cast(t, adapter.computes ? unpacked(t, layer.weight, *adapter.computes) : layer.weight, dtype));
  const Tensor weight = matrices.stored_in_out ? transpose(t, alive.back(), 0, 1) : alive.back();
  const Tensor sum = [&] {
    const Tensor scaled = mul(t, both, 1.0);
    return add(t, weight, scaled);
  }();
  Tensor norm = t.allocate(dtype, {sum.size(0)});
  t.launch(Op::sum, dtype, {&sum}, {&norm}).elementwise = 2 * sum.elements();
  return norm;
}

// What PEFT's DoraLinearLayer adds to `y`: (m/n - 1) W x + m/n s B A x, n being a constant.
Tensor dora_term(Trace& t, const Tensor& y, const Tensor& input, const FrozenLinear& layer,
                 const AdapterLeaf& adapter) {
  const LowRank matrices = low_rank_of(t, adapter, layer.stored_in_out);
  const Tensor magnitude = t.parameter(adapter.magnitude);
  const Tensor x = dropout(t, input, adapter.dropout);
  Tensors alive;
  const Tensor norm = weight_norm(t, layer, adapter, matrices, x.dtype, alive);
  const Tensor ratio = div(t, magnitude, norm);
  const Tensor scale = view(t, ratio, {1, ratio.size(0)});
  const Tensor low_rank = through(t, x, matrices);
  Tensor base = y;
  if (adapter.dropout > 0)
    base = unbiased(t, x, alive.back(), layer.stored_in_out);
  else if (layer.bias)
    base = sub(t, y, *layer.bias);
  const Tensor left = mul(t, add(t, scale, -1.0), base);
  Tensor right = mul(t, scale, low_rank);
  right = mul(t, right, 1.0);
  return add(t, left, right);
}

}  // namespace

const AdapterLeaf* adapter_of(const Trace& t, const Tensor& weight) {
  if (weight.parameter < 0 || static_cast<std::size_t>(weight.parameter) >= t.adapters.size()) return nullptr;
  const AdapterLeaf& adapter = t.adapters[static_cast<std::size_t>(weight.parameter)];
  return adapter.a >= 0 || adapter.computes ? &adapter : nullptr;
}

Tensor packed_linear(Trace& t, const Tensor& input, const Tensor& weight, const Tensor* bias, bool stored_in_out,
                     DType computes) {
  const Tensor x = cast(t, input, computes);
  const Ref<Node> node = t.node(Op::mm, packed_back, {&x});
  if (node) node->numbers = {static_cast<Count>(computes), stored_in_out};
  t.keep(node, weight);
  Tensor y;
  {
    const Trace::NoGrad no_grad(t);
    const Tensor whole = unpacked(t, weight, computes);
    std::optional<Tensor> low_bias;
    if (bias) low_bias = cast(t, *bias, computes);
    y = product_with(t, reshape(t, x, x.shape()), whole, !stored_in_out, low_bias ? &*low_bias : nullptr);
  }
  t.produced(node, y);
  return cast(t, y, input.dtype);
}

Tensor with_adapter(Trace& t, Tensor y, const Tensor& input, const FrozenLinear& layer, const AdapterLeaf& adapter) {
  const Trace::Scope scope(t, "lora");
  const DType dtype = y.dtype;
  const bool packed = adapter.computes.has_value();
  const bool converts = !packed || !t.autocast_on();  // input and result; PEFT's 4-bit layer leaves it to autocast
  if (packed) y = copy(t, y);
  const Tensor x = converts ? cast(t, input, t.parameter(adapter.a).dtype) : input;
  if (adapter.magnitude >= 0) {
    y = add(t, y, dora_term(t, y, x, layer, adapter));
  } else {
    Tensor low_rank = dropout(t, x, adapter.dropout);
    low_rank = through(t, low_rank, low_rank_of(t, adapter, layer.stored_in_out));
    low_rank = mul(t, low_rank, 1.0);
    if (packed && converts) low_rank = cast(t, low_rank, dtype);
    y = add(t, y, low_rank);
  }
  return converts ? cast(t, y, dtype) : y;
}

}  // namespace llmcalc
