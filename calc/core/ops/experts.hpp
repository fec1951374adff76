// What a mixture of experts is made of: choosing the experts of a token, sorting tokens by expert, one product for all.
#pragma once

#include "core/trace.hpp"

namespace llmcalc {

struct TopK {
  Tensor values, indices;  // (..., k); the indices are int64
};
// The k largest over the last axis; keeps the indices.
TopK topk(Trace& t, const Tensor& x, Count k);

// x by int64 indices of the same rank along the last axis; keeps the indices and x.
Tensor gather_last(Trace& t, const Tensor& x, const Tensor& indices);
// Rows of x (n, ...) by int64 indices (m); keeps the indices.
Tensor rows_at(Trace& t, const Tensor& x, const Tensor& indices);

// (n, k) values written to their places in rows of `length`; keeps the indices.
Tensor scattered(Trace& t, const Tensor& values, const Tensor& indices, Count length);

// Rows with the element at each index overwritten by a number; keeps the indices.
Tensor struck_out(Trace& t, const Tensor& x, const Tensor& indices);
// Phi-3.5's sampled gate: factor * mask, with a gradient to `scores` made from factor, indices and gates, which are
// kept.
Tensor sampled_gate(Trace& t, const Tensor& scores, const Tensor& factor, const Tensor& indices, const Tensor& gates);

Tensor sum_last(Trace& t, const Tensor& x, bool keeps_axis);
Tensor sum_axis_0(Trace& t, const Tensor& x);  // (k, n, h) to (n, h)
Tensor sum_axis_1(Trace& t, const Tensor& x);  // (n, k, h) to (n, h)

// x /= divisor for two tensors: keeps the divisor and a copy of x as it was.
Tensor div_in_place(Trace& t, const Tensor& x, const Tensor& divisor);

// Rows (s, in), sorted by expert, each by its expert's matrix: (s, out). `weight` is (experts, in, out) in any layout.
// Keeps the rows, the weight and the int32 offsets of the experts. 2 * s * in * out FLOPs, whatever the routing.
Tensor grouped_mm(Trace& t, const Tensor& rows, const Tensor& weight, const Tensor& offsets);

}  // namespace llmcalc
