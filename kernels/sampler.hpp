// Times workloads on a backend: warm-up, interleaved samples until the median is sure, verification, verdict.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "core/device.hpp"
#include "kernels/backend.hpp"

namespace llmcalc {

struct Limits {
  Count warm_up = 2;              // samples that are thrown away
  Count fewest = 7, most = 200;   // samples
  double target = 0.03;           // half the 95 % interval of the median, as a share of it
  double seconds = 1;             // for all variants of a group together
  double shortest_sample = 1e-3;  // runs are repeated until a sample takes that long, in seconds
};

struct Outcome {
  Workload workload;
  std::string skipped;  // why it was not measured; empty when `record` holds
  MeasuredWorkload record;
  std::vector<double> samples;  // seconds of one run each, in the order taken
};

// A median further off than this between the two halves of the samples is a device that changed meanwhile.
constexpr double drift_limit = 0.10;
// Beyond a bound by so much is impossible, not merely a bound measured a little low.
constexpr double possible_margin = 1.10;
// Memory's rate shows only when what is touched is this many times the last-level cache.
constexpr Count cold_caches = 4;

// One group: variants of one workload, sampled in turn (A B A B). `stop` ends sampling early; what was not yet verified
// then counts as skipped.
std::vector<Outcome> measure_group(Backend& backend, const DeviceInfo& info, const std::vector<Workload>& variants,
                                   const Limits& limits, const std::atomic<bool>& stop);

// The same one over and over for so many seconds: two outcomes, the burst (its first second, or tenth) and what it
// sustains (its second half). Power and heat set in after seconds.
std::vector<Outcome> measure_sustained(Backend& backend, const DeviceInfo& info, const Workload& workload,
                                       const Limits& limits, double seconds, const std::atomic<bool>& stop);

// For one run of a sample that took `seconds`: empty, or why that cannot be.
std::string impossible(const DeviceInfo& info, const Workload& workload, const std::string& state, double seconds);

}  // namespace llmcalc
