// Does a job fit, how far could it grow, and which change helps most.
#pragma once

#include <functional>

#include "core/device.hpp"
#include "core/model.hpp"
#include "core/passes/step.hpp"
#include "core/report.hpp"

namespace llmcalc {

// Judged against the memory the driver shows. `step` is `plan` traced and `memory` its account, with what the driver
// sees filled in. A job fits when the allocator's pool and the largest framework allowance do; it is tight when only
// the tensors themselves surely do (an allocator gives cached blocks back when the device is full); else it does not
// fit.
FitReport judge_fit(const Model& model, const StepPlan& plan, const TracedStep& step, const MemoryReport& memory,
                    const Device& device);

// The same for weights and caches of keys and values with so many bits an element.
FitReport judge_inference(const Model& model, const StepPlan& plan, Count kv_bits, const MemoryReport& memory,
                          const Device& device);

// The largest n >= 1 for which `bytes(n)` is at most `limit`, where bytes grows with n and does so almost linearly;
// 0 when not even 1 fits. Asks for at most `most`.
Count largest_fitting(const std::function<Bytes(Count)>& bytes, Bytes limit, Count most);

}  // namespace llmcalc
