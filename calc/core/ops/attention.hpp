// Fused attention kernels behind torch.nn.functional.scaled_dot_product_attention.
#pragma once

#include "core/trace.hpp"

namespace llmcalc {

enum class AttentionKernel { eager, flash, efficient, cudnn, math };

// q (B, heads, T, d_qk), k (B, kv heads, T, d_qk), v (B, kv heads, T, d_v); heads of k and v may be fewer (grouped).
// `mask` is nullptr or a boolean mask that broadcasts to (B, heads, T, T). `kernel` is one of the fused ones, and
// allowed for these operands (attention_choice.hpp decides). Keeps q, k, v, the mask, the output and per query the
// float32 log of the softmax sum, and the random state.
Tensor fused_attention(Trace& t, AttentionKernel kernel, const Tensor& q, const Tensor& k, const Tensor& v,
                       const Tensor* mask, const ScorePairs& pairs);

// k or v (B, heads or fewer, T, d) repeated to all heads: a copy (repeat_interleave).
Tensor for_all_heads(Trace& t, const Tensor& x, Count heads);

}  // namespace llmcalc
