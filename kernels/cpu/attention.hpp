// Fused attention on the processor: what its kernels work on, and how the work is shared among threads.
#pragma once

#include <vector>

#include "core/op.hpp"

namespace llmcalc::cpu {

// The arrays of one run. q, k, v, the output and all gradients lie token by token: (batch, length, heads, size). A
// score is q k^T / sqrt(size of q).
struct AttentionProblem {
  AttentionShape shape;
  bool skips_masked = false;  // blocks of keys that no query of a block sees are left out; else all are computed
  const float *q = nullptr, *k = nullptr, *v = nullptr;
  // Forward writes these; backward reads them and the output's gradient.
  float *out = nullptr, *log_sums = nullptr;
  const float* out_gradient = nullptr;
  float *q_gradient = nullptr, *k_gradient = nullptr, *v_gradient = nullptr;
};

struct Range {
  Count first = 0, end = 0;
};

// What one thread does at a time. Forward: queries of one head. Backward: the heads that share one head of k and v, and
// of their gradients those of the queries, those of the keys, or both; with both, the ranges are the whole sequence.
struct AttentionPart {
  Count batch = 0, head = 0;
  Range queries, keys;
  bool query_gradients = false, key_gradients = false;
};

using AttentionKernel = void (*)(const AttentionProblem&, const AttentionPart&);

// Queries (and, split, keys) of one part; a multiple of every vector's length.
constexpr Count attention_block = 64;

// The keys that some query of a range sees.
Range visible_keys(const AttentionProblem& problem, Range queries);

// All parts of a pass, by thread, so that every thread scores about as many pairs. Results do not depend on `threads`
// except in how sums are rounded.
std::vector<std::vector<AttentionPart>> attention_parts(const AttentionProblem& problem, bool backward,
                                                        std::size_t threads);

}  // namespace llmcalc::cpu
