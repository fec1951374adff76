#include "core/blocks/norm.hpp"

#include "core/ops/cast.hpp"
#include "core/ops/elementwise.hpp"

namespace llmcalc {

Tensor rms_norm(Trace& t, const Tensor& x, const Tensor& weight) {
  Tensor hidden = cast(t, x, DType::float32);
  Tensor variance = pow(t, hidden, 2);
  variance = mean_last(t, variance);
  Tensor scale = add(t, variance, 1e-6);
  scale = rsqrt(t, scale);
  hidden = mul(t, hidden, scale);
  scale = {};
  hidden = cast(t, hidden, x.dtype);
  return mul(t, weight, hidden);
}

}  // namespace llmcalc
