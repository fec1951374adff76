// Least time of a step on a device: every launch at the roofline.
#pragma once

#include "core/device.hpp"
#include "core/passes/step.hpp"

namespace llmcalc {

// The peak a launch of that dtype has on the device, or nothing when the device states none.
std::optional<FlopsPerSecond> peak_for(const Device& device, DType dtype, bool tf32);

// Sum over the launches of max(FLOPs / peak, bytes / bandwidth); the micro-batch counts `accumulate` times, the
// optimizer once. Nothing where the device states no bandwidth or no peak for a dtype that is used.
std::optional<Seconds> least_step_time(const Trace& trace, const Device& device, const Precision& precision, Count accumulate,
                                       AttentionCounting counting);

}  // namespace llmcalc
