// An estimate against a measurement, operation by operation. What predicts and what tests are kept apart: predictions
// come from the harness's own workloads (squares, sweeps, copies), tests are the model's operations at their true
// shapes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/device.hpp"
#include "core/model_source.hpp"
#include "core/report.hpp"
#include "core/run.hpp"
#include "core/units.hpp"

namespace llmcalc {

struct CheckedOperation {
  std::string operation;  // "layers.mlp.c_fc addmm 256x3072x768"
  Count times = 1;        // in one step
  Seconds predicted;      // of one
  std::optional<Seconds> measured;
  double ratio = 0;    // measured / predicted
  std::string bound;   // memory | compute | launch
  bool within = true;  // of the band
  std::string reason;  // why not, or why it was not measured
};

struct CheckReport {
  std::string model, device;
  std::string job;                                // as job_in_words
  std::vector<CheckedOperation> operations;       // most time first
  double band = 0;                                // ratios from 1 / (1 + band) to 1 + band count as agreement
  std::optional<double> median_error, p95_error;  // of |ratio - 1|, over what was measured
  double covered = 0;                             // share of the step's time that was measured
  Seconds predicted_step, measured_step;          // sums over what was measured, and how long both say it takes
};

// Less of the step than this says nothing about it.
constexpr double least_coverage = 0.5;

// What decides which operations a step has: "GPT-2 small: batch 1, seq 256, fp32, adamw, attention flash". A profile
// says so of the step it was measured for.
std::string job_in_words(const std::string& model, const ResolvedRun& run);

// Throws Error(bad_input) when the device holds no measurements, or none that predicts this recipe.
CheckReport check_estimate(const ModelSource& model, const Device& measured, const RunOptions& options);

}  // namespace llmcalc
