// Norms as models write them.
#pragma once

#include "core/trace.hpp"

namespace llmcalc {

// The llama family's RMSNorm in plain operations: float32 copy, mean of squares, scale, back to the input's dtype, then
// the weight: weight * (x32 * rsqrt(mean(x32^2) + eps)).to(dtype).
Tensor rms_norm(Trace& t, const Tensor& x, const Tensor& weight);

}  // namespace llmcalc
