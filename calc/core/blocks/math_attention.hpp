// Scaled dot-product attention as PyTorch composes it where no fused kernel runs: SDPBackend.MATH.
#pragma once

#include "core/ops/attention.hpp"

namespace llmcalc {

// q (B, H, T, d), k and v (B, H or fewer, T, d) to (B, H, T, d). A boolean `mask` may be undefined; `causal` makes one.
// Computed in float32 whatever the operands are; keeps the scaled operands and the softmax, T x T for every head
// (torch 2.15, aten/src/ATen/native/transformers/attention.cpp, _scaled_dot_product_attention_math).
Tensor math_attention(Trace& t, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask, bool causal,
                      const ScorePairs& pairs, double dropout_rate);

}  // namespace llmcalc
