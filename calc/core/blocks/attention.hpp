// Attention from q, k and v to the mixed values, in the library's own operations or through a fused kernel.
#pragma once

#include <optional>

#include "core/model.hpp"

namespace llmcalc {

// How a model's own ("eager") attention is written.
struct EagerStyle {
  bool softmax_in_float32 = true;  // softmax(dtype=float32).to(q's dtype); false: softmax in the scores' dtype
  bool makes_contiguous = true;    // transposes and copies the output itself
};

struct Attended {
  Tensor output;   // (B, T, heads, v size)
  Tensor weights;  // the eager probabilities, which the caller keeps alive; undefined for a fused kernel
};

// q (B, heads, T, d), k and v (B, kv heads, T, d). `mask` may be undefined.
Attended attend(Trace& t, const Job& job, const AttentionTraits& traits, const EagerStyle& style, const Tensor& q,
                const Tensor& k, const Tensor& v, const Tensor& mask, double dropout_rate);

// Scored pairs of one head of one sequence.
ScorePairs score_pairs(const Job& job, const AttentionTraits& traits);

// The mask a layer is handed: float (B, 1, T, T) for eager attention, boolean for a fused kernel where a window or
// packed documents need one, undefined where the kernel's causal flag is enough.
Tensor attention_mask(Trace& t, const Job& job, std::optional<Count> window, DType dtype);
// Whether a fused kernel is handed a mask.
bool needs_mask(const Job& job, std::optional<Count> window);

// k or v repeated to all heads by expand and reshape, as the model code does it (a view where there is one kv head).
Tensor repeat_kv(Trace& t, const Tensor& x, Count heads);

}  // namespace llmcalc
