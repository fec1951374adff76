// MFU and HFU of a run that was timed, why other people would get another number for it, and what the rest of the time
// went into. Also the same arithmetic backwards: tokens for a budget, devices for a deadline.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/device.hpp"
#include "core/model_source.hpp"
#include "core/report.hpp"
#include "core/run.hpp"

namespace llmcalc {

// What was observed; exactly one of the three.
struct Observed {
  std::optional<double> tokens_per_second;  // all devices together
  std::optional<Seconds> step;              // one optimizer step
  std::optional<double> days;               // the whole training of --tokens
};

// The MFU somebody else would state for the same run.
struct OtherAnswer {
  std::string name;  // "palm", "sparse peak", "one device"
  double mfu = 0;
  std::string why;
};

struct UtilizationReport {
  std::string model, device, peak_key;
  ResolvedRun run;
  FlopsPerSecond peak;
  std::optional<Seconds> step;  // absent for a model known only by its size, with no batch given
  double tokens_per_second = 0;
  std::optional<double> days;  // of --tokens
  double mfu = 0;
  std::optional<double> hfu;
  FlopsPerSecond model_rate;  // of one device
  std::vector<OtherAnswer> others;
  // Shares of the step, of a traced model: what its parts could have filled at the rates programs reach, and "waiting",
  // which is the rest. They add up to 1. Empty when the step is faster than expected: then nobody knows.
  std::vector<std::pair<std::string, double>> filled;
  std::optional<double> expected_mfu;  // what llmcalc would predict for the job
  std::optional<Seconds> expected_step;
  Count kernels = 0;
  Seconds host_at_worst;
  std::string rates;
  std::string verdict;  // what such an MFU means
};

// Throws Error(bad_input) when nothing can be said, and when the MFU comes out above 100 %, with its likely cause.
UtilizationReport utilization(const ModelSource& model, const Device& device, const RunOptions& options,
                              const Observed& observed);

// What an MFU like this means, in words.
std::string mfu_in_words(double mfu);

// Tokens that `dollars` buy, or devices (data-parallel replicas) that finish the run's tokens in `days`, at the
// predicted step time or the run's --mfu.
struct PlanReport {
  Report job;                    // of the run as it was given, or with the devices found
  double tokens_per_second = 0;  // of all devices
  std::optional<double> dollars, tokens;
  std::optional<double> days;
  std::optional<Count> devices;
};
PlanReport tokens_for_budget(const ModelSource& model, const Device& device, const RunOptions& options, double dollars);
PlanReport devices_for_deadline(const ModelSource& model, const Device& device, const RunOptions& options, double days);

}  // namespace llmcalc
