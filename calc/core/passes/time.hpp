// Time of one optimizer step on one device: the sum over its launches.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/passes/rates.hpp"

namespace llmcalc {

struct StepTime {
  Seconds least;              // every launch at the stated peak or bandwidth, launching for free
  Seconds expected;           // the sum of the parts
  Seconds shortest, longest;  // the likely band
  // Matrix products, attention, other operations over memory, the optimizer, launching.
  std::vector<std::pair<std::string, Seconds>> parts;
  Seconds products_least, memory_least;  // of `least`: launches that compute rules, and those that memory rules
  Count kernels = 0;
  Seconds host_at_worst;  // the host issuing them one by one from a framework
};

// The micro-batch on the tape counts `accumulate` times, the optimizer once. `rates.why_not` must be empty.
StepTime time_step(const TracedStep& step, const Model& model, const StepPlan& plan, const Rates& rates);

}  // namespace llmcalc
