// Norms as models write them.
#pragma once

#include "core/trace.hpp"

namespace llmcalc {

// x32 is the input in float32, x^ = x32 * rsqrt(mean(x32^2) + eps), "to" a conversion back to the input's dtype.
enum class NormKind : unsigned char {
  rms,                  // weight * to(x^): the llama family
  rms_weighted_inside,  // to(weight * x^): OLMo 2, gpt-oss
  rms_plus_one,         // to(x^ * (1 + float32(weight))): Gemma
  rms_float32_weight,   // to(x^ * float32(weight)): Gemma 4
  layer,                // torch.nn.LayerNorm
  layer_in_float32,     // to(layer_norm(x32)): OLMo
  layer_by_hand,        // to(float32(weight) * (x32 - mean) * rsqrt(variance + eps)): Cohere
  layer_plus_one,       // layer_norm with 1 + weight: Nemotron
};

struct NormSpec {
  NormKind kind = NormKind::rms;
  bool weight = true;
  bool bias = false;
};

// `weight` and `bias` are nullptr where the norm has none. Over the last axis.
Tensor norm(Trace& t, NormKind kind, const Tensor& x, const Tensor* weight, const Tensor* bias = nullptr);

}  // namespace llmcalc
