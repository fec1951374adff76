// Softmax, dropout and layer normalisation as single kernels.
#pragma once

#include <optional>

#include "core/trace.hpp"

namespace llmcalc {

// Over the last axis; keeps its output. With `dtype` the input is converted first, whatever autocast says; without one
// autocast computes it in float32.
Tensor softmax(Trace& t, const Tensor& x, std::optional<DType> dtype = {});

// Over the last axis; rows that are minus infinity throughout become zeros (aten's _safe_softmax). Keeps its output.
Tensor safe_softmax(Trace& t, const Tensor& x);

// `x` itself when rate is 0; otherwise keeps a mask of one byte an element (CUDA's fused kernel).
Tensor dropout(Trace& t, const Tensor& x, double rate);

// Over the last axis, in float32 under autocast. Keeps the input and per row the mean and 1/standard deviation in
// float32. A norm without weight or bias passes nullptr.
Tensor layer_norm(Trace& t, const Tensor& x, const Tensor* weight, const Tensor* bias);

}  // namespace llmcalc
