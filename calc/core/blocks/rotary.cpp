#include "core/blocks/rotary.hpp"

#include "core/ops/cast.hpp"
#include "core/ops/data.hpp"
#include "core/ops/elementwise.hpp"
#include "core/ops/views.hpp"

namespace llmcalc {
namespace {

Tensor rotate_half(Trace& t, const Tensor& x) {
  const Count half = x.size(-1) / 2;
  const Tensor first = slice(t, x, -1, 0, half), second = slice(t, x, -1, half, x.size(-1) - half);
  return cat(t, {neg(t, second), first}, -1);
}

}  // namespace

RotaryTables rotary_tables(Trace& t, Count length, Count size, DType dtype) {
  const Trace::Scope scope(t, "rotary");
  const Trace::NoGrad no_grad(t);
  const Tensor frequencies = constant(t, DType::float32, {1, length, size / 2});
  const Tensor angles = cat(t, {frequencies, frequencies}, -1);
  const auto table = [&](Op op) {
    Tensor values = pointwise(t, op, {&angles});
    values = mul(t, values, 1.0);
    return values;
  };
  const Tensor cos = table(Op::cos), sin = table(Op::sin);
  return {cast(t, cos, dtype), cast(t, sin, dtype)};
}

Tensor apply_rotary(Trace& t, const Tensor& x, const Tensor& cos, const Tensor& sin) {
  const Tensor straight = mul(t, x, cos);
  Tensor turned = rotate_half(t, x);
  turned = mul(t, turned, sin);
  return add(t, straight, turned);
}

}  // namespace llmcalc
