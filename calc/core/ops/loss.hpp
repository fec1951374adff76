// Cross-entropy of next-token prediction.
#pragma once

#include "core/trace.hpp"

namespace llmcalc {

// Mean cross-entropy of logits (n, V) against ids (n): log_softmax (in float32 under autocast), then the negative
// log-likelihood. Keeps the log-probabilities, the ids and the total weight.
Tensor cross_entropy(Trace& t, const Tensor& logits, const Tensor& ids);

}  // namespace llmcalc
