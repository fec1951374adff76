// `roofline`: one device's ceilings, and one job's operations under them.
#pragma once

#include "core/model_source.hpp"
#include "core/passes/roofline.hpp"
#include "core/passes/time.hpp"
#include "core/report.hpp"
#include "core/run.hpp"

namespace llmcalc {

struct MeasuredPoint {
  std::string name;  // "matmul bf16 4096x4096x4096"
  FlopsPerByte intensity;
  FlopsPerSecond rate;
  bool sweep = false;  // of the sweep that draws the roof, in rising intensity
};

struct RooflineReport {
  std::string device;
  std::vector<Ceiling> ceilings;
  std::map<std::string, FlopsPerByte> ridge;
  std::vector<MeasuredPoint> measured;
  std::optional<BytesPerSecond> bandwidth;

  // Of a job.
  std::string model;
  ResolvedRun run;
  std::string peak_key;  // of the recipe
  std::optional<RooflineSteps> step;
  StepTime time;
  std::string basis, rates;
};

RooflineReport device_roofline(const Device& device);

// Throws Error(bad_input) when the model is known only by its size, when the device states no bandwidth or lacks the
// recipe's peak, and for options that make no sense.
RooflineReport job_roofline(const ModelSource& model, const Device& device, const RunOptions& options);

}  // namespace llmcalc
