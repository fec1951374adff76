// What libraries of fused kernels (Liger-Kernel, Transformer Engine, Megatron-LM) make of a chain of operations: one
// kernel that keeps its inputs and computes the rest again in the backward pass.
#pragma once

#include "core/trace.hpp"

namespace llmcalc {

// RMSNorm over the last axis: keeps its input and one float32 a row. `weight` may be nullptr.
Tensor rms_norm_kernel(Trace& t, const Tensor& x, const Tensor* weight);

// activation(gate) * up: keeps both, and its backward pass overwrites them with their gradients.
Tensor gated_activation(Trace& t, const Tensor& gate, const Tensor& up);

// Scale, mask and softmax of scores in their own dtype: keeps its output.
Tensor masked_softmax(Trace& t, const Tensor& scores);

}  // namespace llmcalc
