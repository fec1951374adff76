// The kernels of state-space and linear-attention layers, each as one launch: the causal convolution before the
// recurrence, the recurrence itself, and the norm with a gate behind it.
//
// FLOPs are those of the products: 2 for each weight of the convolution and token; for the recurrence 2 for each
// element of the state and product (what a token adds, what it reads). Decay is element-wise. A kernel that works in
// chunks computes more, and so does one that computes states again in its backward pass; neither is counted. Backward
// is twice forward.
#pragma once

#include "core/trace.hpp"

namespace llmcalc {

// Depthwise causal convolution along axis 1 of x (B, T, C) with weight (C, 1, width), then silu where `activates`.
// Keeps x and the weights; what silu needs is computed again.
Tensor causal_conv1d(Trace& t, const Tensor& x, const Tensor& weight, const Tensor* bias, bool activates);

struct Recurrence {
  Count state = 0;        // elements of the state of one sequence, all heads
  Count products = 2;     // of the whole state for each token: add and read (the delta rule reads twice)
  Count elementwise = 0;  // other FLOPs of one token
  Count kept_states = 0;  // states at borders of chunks, kept in float32 for the backward pass
};

// Runs over axis 1 of its operands (B, T, ...): output (B, T, width) in the dtype of the first. Keeps all operands, its
// output, and the states at the borders of chunks.
Tensor scan(Trace& t, const Recurrence& recurrence, const Tensors& operands, Count width);

// -exp(float32(log)): the rates at which states decay.
Tensor decay_rates(Trace& t, const Tensor& log);

// RMSNorm over `size` elements at a time, times weight, times silu(gate). Keeps x, the gate, the weight and per group
// 1/rms in float32.
Tensor gated_rms_norm(Trace& t, const Tensor& x, const Tensor& gate, const Tensor& weight, Count size);

}  // namespace llmcalc
