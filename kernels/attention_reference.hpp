// What fused attention should compute, row by row in float64 and by the textbook: for verification, and for tests.
#pragma once

#include <vector>

#include "core/op.hpp"
#include "kernels/backend.hpp"

namespace llmcalc {

// What a pass reads and wrote, token by token: (batch, length, heads, size); log_sums (batch, heads, log_sum_rows).
struct AttentionData {
  AttentionShape shape;
  const float *q = nullptr, *k = nullptr, *v = nullptr, *out = nullptr, *log_sums = nullptr;
  // Backward only.
  const float *out_gradient = nullptr, *q_gradient = nullptr, *k_gradient = nullptr, *v_gradient = nullptr;
};

// A row of a result; `spread` is the root of the sum of squares of what each element is the sum of: what a sum of terms
// of random sign is as large as, and what its rounding is relative to.
struct ReferenceRow {
  std::vector<double> values, spread;
};

// The output for the query at `place`, and the log of its softmax's sum.
ReferenceRow attention_output(const AttentionData& data, Count batch, Count head, Count place, double& log_sum);
// Gradients, from the output and the log-sums as they were given: of the query, the key, the value at `place`.
ReferenceRow attention_q_gradient(const AttentionData& data, Count batch, Count head, Count place);
ReferenceRow attention_k_gradient(const AttentionData& data, Count batch, Count kv_head, Count place);
ReferenceRow attention_v_gradient(const AttentionData& data, Count batch, Count kv_head, Count place);

// The relative error that rounding in float32 explains.
double attention_limit(const AttentionShape& shape);

// Every element must be a number; the first row, the last and some dozens in between must be right.
Verification verify_attention_output(const AttentionData& data);
Verification verify_attention_gradients(const AttentionData& data);

}  // namespace llmcalc
