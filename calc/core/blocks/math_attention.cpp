#include "core/blocks/math_attention.hpp"

#include "core/ops/cast.hpp"
#include "core/ops/data.hpp"
#include "core/ops/elementwise.hpp"
#include "core/ops/matmul.hpp"
#include "core/ops/normalise.hpp"
#include "core/ops/select.hpp"
#include "core/ops/views.hpp"

namespace llmcalc {
namespace {

// Minus infinity above the diagonal; booleans on the way there.
Tensor causal_bias(Trace& t, Count length) {
  const Dims square{length, length};
  const auto lower_triangle = [&] {
    const Tensor ones = constant(t, DType::boolean, square);
    return constant(t, DType::boolean, square);
  };
  const Tensor allowed = lower_triangle();
  return constant(t, DType::float32, square);
}

}  // namespace

Tensor math_attention(Trace& t, const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& mask,
                      bool causal, const ScorePairs& pairs, double dropout_rate) {
  // The call is on autocast's 16-bit list; what happens inside is not seen by autocast.
  const Tensor q = t.to_autocast(query), k = t.to_autocast(key), v = t.to_autocast(value);
  const Trace::AutocastOff off(t);
  Tensor bias;
  if (mask.defined()) bias = constant(t, q.dtype, mask.shape());
  const Tensor q32 = cast(t, q, DType::float32), k32 = cast(t, k, DType::float32), v32 = cast(t, v, DType::float32);
  // Both factors of the product carry the square root of the scale.
  const Tensor scaled = mul(t, q32, 1.0);
  if (causal && !bias.defined()) bias = causal_bias(t, q.size(2));
  const Tensor keys = for_all_heads(t, k32, q.size(1)), values = for_all_heads(t, v32, q.size(1));
  Tensor weights;
  {
    const Trace::Scope scope(t, "scores");
    weights = matmul(t, scaled, mul(t, transpose(t, keys, -1, -2), 1.0), pairs);
    if (bias.defined()) weights = add_in_place(t, weights, bias);
  }
  {
    const Trace::Scope scope(t, "softmax");
    weights = safe_softmax(t, weights);
    weights = dropout(t, weights, dropout_rate);
  }
  const Trace::Scope scope(t, "weighted_sum");
  // The weights are a second result, in the operands' dtype, which the caller drops.
  const auto second_result = [&] {
    const Trace::NoGrad no_grad(t);
    return cast(t, weights, q.dtype);
  };
  const Tensor dropped = second_result();
  return cast(t, matmul(t, weights, values, pairs), q.dtype);
}

}  // namespace llmcalc
