// Cross-entropy of next-token prediction.
#pragma once

#include "core/trace.hpp"

namespace llmcalc {

// Mean cross-entropy of logits (n, V) against ids (n): log_softmax in the logits' dtype, then the negative
// log-likelihood (in float32 under autocast). Keeps the log-probabilities, the ids and the total weight.
Tensor cross_entropy(Trace& t, const Tensor& logits, const Tensor& ids);

// Head and cross-entropy as one operation (Liger-Kernel's LigerFusedLinearCrossEntropyFunction): the logits of a chunk
// of tokens at a time, overwritten by their gradient, from which the gradients of `x` (n, H) and of `weight` (V, H) are
// made in the forward pass. Those two are what it keeps; chunks are such that their logits take about as much as `x`.
Tensor fused_linear_cross_entropy(Trace& t, const Tensor& x, const Tensor& weight, const Tensor& ids);

}  // namespace llmcalc
