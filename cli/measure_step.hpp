// The operations of a model's step as workloads.
#pragma once

#include <string>
#include <vector>

#include "cli/command.hpp"
#include "kernels/backend.hpp"
#include "kernels/workload.hpp"

namespace llmcalc::cli {

struct StepToMeasure {
  std::vector<Workload> operations;
  std::string job;  // "GPT-2: batch 1, seq 256, fp32, adamw", for the profile
};

// The step of --model with the run options given, in the precision this device can do. Nothing without --model.
StepToMeasure step_to_measure(const Arguments& arguments, Backend& backend, const DeviceInfo& info, Output& output);

}  // namespace llmcalc::cli
