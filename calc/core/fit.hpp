// Does a job fit, how far could it grow, and which change helps most.
#pragma once

#include <functional>

#include "core/device.hpp"
#include "core/model.hpp"
#include "core/passes/step.hpp"
#include "core/report.hpp"

namespace llmcalc {

// Peak bytes of a plan; the solver calls it a few times.
Bytes peak_bytes(const Model& model, const StepPlan& plan);

// Judged against the memory the driver shows. `peak` is that of `plan`.
FitReport judge_fit(const Model& model, const StepPlan& plan, Bytes peak, const Device& device);

// The largest n >= 1 for which `bytes(n)` is at most `limit`, where bytes grows with n and does so almost linearly;
// 0 when not even 1 fits. Asks for at most `most`.
Count largest_fitting(const std::function<Bytes(Count)>& bytes, Bytes limit, Count most);

}  // namespace llmcalc
