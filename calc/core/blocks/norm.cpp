#include "core/blocks/norm.hpp"

#include "core/ops/cast.hpp"
#include "core/ops/elementwise.hpp"
#include "core/ops/fused.hpp"
#include "core/ops/normalise.hpp"

namespace llmcalc {
namespace {

// x32 * rsqrt(mean(x32^2) + eps)
Tensor rms_normalised(Trace& t, const Tensor& x) {
  const Tensor hidden = cast(t, x, DType::float32);
  Tensor scale = pow(t, hidden, 2);
  scale = mean_last(t, scale);
  scale = add(t, scale, 1e-6);
  scale = rsqrt(t, scale);
  return mul(t, hidden, scale);
}

Tensor rms_norm(Trace& t, const Tensor& x, const Tensor* weight) {
  Tensor hidden = rms_normalised(t, x);
  hidden = cast(t, hidden, x.dtype);
  return weight ? mul(t, *weight, hidden) : hidden;
}

Tensor rms_norm_weighted_inside(Trace& t, const Tensor& x, const Tensor* weight) {
  Tensor hidden = rms_normalised(t, x);
  if (weight) hidden = mul(t, *weight, hidden);
  return cast(t, hidden, x.dtype);
}

Tensor rms_norm_plus_one(Trace& t, const Tensor& x, const Tensor& weight) {
  Tensor hidden = rms_normalised(t, x);
  const Tensor factor = add(t, cast(t, weight, DType::float32), 1.0);
  hidden = mul(t, hidden, factor);
  return cast(t, hidden, x.dtype);
}

// With pow(-0.5) instead of rsqrt, which keeps its input.
Tensor rms_norm_float32_weight(Trace& t, const Tensor& x, const Tensor* weight) {
  Tensor hidden = cast(t, x, DType::float32);
  Tensor scale = pow(t, hidden, 2);
  scale = mean_last(t, scale);
  scale = add(t, scale, 1e-6);
  scale = pow(t, scale, -0.5);
  hidden = mul(t, hidden, scale);
  if (weight) hidden = mul(t, hidden, cast(t, *weight, DType::float32));
  return cast(t, hidden, x.dtype);
}

Tensor layer_norm_by_hand(Trace& t, const Tensor& x, const Tensor& weight) {
  Tensor hidden = cast(t, x, DType::float32);
  const Tensor mean = mean_last(t, hidden);
  Tensor variance = sub(t, hidden, mean);
  variance = pow(t, variance, 2);
  variance = mean_last(t, variance);
  const Tensor centred = sub(t, hidden, mean);
  const Tensor scale = rsqrt(t, add(t, variance, 1e-5));
  hidden = mul(t, centred, scale);
  hidden = mul(t, cast(t, weight, DType::float32), hidden);
  return cast(t, hidden, x.dtype);
}

// Under autocast the operands are cast to its dtype by hand and the norm runs outside of it.
Tensor layer_norm_plus_one(Trace& t, const Tensor& x, const Tensor& weight, const Tensor* bias) {
  const auto low = [&](const Tensor& y) {
    if (!t.autocast_on()) return y;
    Tensor copy = cast(t, y, *t.settings.autocast);
    if (y.storage->part == Part::parameters) copy.storage->become(Part::autocast_copies);
    return copy;
  };
  const Tensor input = low(x), factor = low(add(t, weight, 1.0));
  const Tensor offset = bias ? low(*bias) : Tensor();
  const Trace::AutocastOff off(t);
  return layer_norm(t, input, &factor, bias ? &offset : nullptr);
}

}  // namespace

Tensor norm(Trace& t, NormKind kind, const Tensor& x, const Tensor* weight, const Tensor* bias) {
  const bool is_rms = kind == NormKind::rms || kind == NormKind::rms_weighted_inside ||
                      kind == NormKind::rms_plus_one || kind == NormKind::rms_float32_weight;
  if (t.settings.fused_kernels) return is_rms ? rms_norm_kernel(t, x, weight) : layer_norm(t, x, weight, bias);
  switch (kind) {
    case NormKind::rms: return rms_norm(t, x, weight);
    case NormKind::rms_weighted_inside: return rms_norm_weighted_inside(t, x, weight);
    case NormKind::rms_plus_one: return rms_norm_plus_one(t, x, *weight);
    case NormKind::rms_float32_weight: return rms_norm_float32_weight(t, x, weight);
    case NormKind::layer: return layer_norm(t, x, weight, bias);
    case NormKind::layer_in_float32: return cast(t, layer_norm(t, cast(t, x, DType::float32), weight, bias), x.dtype);
    case NormKind::layer_by_hand: return layer_norm_by_hand(t, x, *weight);
    case NormKind::layer_plus_one: return layer_norm_plus_one(t, x, *weight, bias);
  }
  return x;
}

}  // namespace llmcalc
