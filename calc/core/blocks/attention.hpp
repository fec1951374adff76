// Attention from q, k and v to the mixed values, in the library's own operations or through a fused kernel.
#pragma once

#include <optional>

#include "core/model.hpp"

namespace llmcalc {

// How a model's own ("eager") attention turns scores into probabilities.
enum class SoftmaxForm : unsigned char {
  float32,       // softmax(scores, dtype=float32), then q's dtype
  plain,         // softmax(scores), then v's dtype
  float32_copy,  // softmax(scores.float()), then v's dtype
};

enum class ScoreForm : unsigned char {
  usual,          // q k^T * scale, + mask
  batched_alibi,  // Bloom: the position bias is added inside one batched product
  falcon,         // divided in place, probabilities in the dtype of the hidden state
  falcon_alibi,   // float32 scores + bias, scaled in place
  mpt,            // + float32 position bias, masked by filling
};

struct EagerStyle {
  ScoreForm form = ScoreForm::usual;
  bool q_k_in_float32 = false;
  bool scales = true;
  std::optional<double> softcap;
  bool causal_from_buffer = false;  // a stored causal mask first (GPT-Neo)
  bool sinks = false;               // a learned score beside the keys', dropped after the softmax (gpt-oss)
  SoftmaxForm softmax = SoftmaxForm::float32;
  bool makes_contiguous = true;  // transposes and copies the output itself
};

// What attention is handed beside q, k and v; undefined tensors: nothing.
struct AttentionExtras {
  Tensor mask, alibi, sinks;
  DType hidden = DType::float32;  // dtype of the hidden state
};

struct Attended {
  Tensor output;   // (B, T, heads, v size)
  Tensor weights;  // the eager probabilities, which the caller keeps alive; undefined for a fused kernel
};

// q (B, heads, T, d), k and v (B, kv heads, T, d).
Attended attend(Trace& t, const Job& job, const AttentionTraits& traits, const EagerStyle& style, const Tensor& q,
                const Tensor& k, const Tensor& v, const AttentionExtras& extras, double dropout_rate);

// Scored pairs of one head of one sequence.
ScorePairs score_pairs(const Job& job, const AttentionTraits& traits);

// The mask a layer is handed: float (B, 1, T, T) for eager attention, boolean for a fused kernel where a window or
// packed documents need one, undefined where the kernel's causal flag is enough.
Tensor attention_mask(Trace& t, const Job& job, const AttentionTraits& traits, DType dtype);
// Whether a fused kernel is handed a mask.
bool needs_mask(const Job& job, const AttentionTraits& traits);

// k or v repeated to all heads by expand and reshape, as the model code does it (a view where there is one kv head).
Tensor repeat_kv(Trace& t, const Tensor& x, Count heads);

}  // namespace llmcalc
