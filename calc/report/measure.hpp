// What `llmcalc measure` found: as a table, as JSON, and as a device profile.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/device.hpp"
#include "report/json.hpp"
#include "report/table.hpp"

namespace llmcalc::report {

struct Measured {
  std::string device;  // as the driver or the system names it
  std::optional<double> compute_capability;
  Bytes memory;
  Bytes cache;                                 // last level; 0: not known
  std::map<std::string, FlopsPerSecond> peak;  // by dtype
  std::optional<BytesPerSecond> bandwidth;
  std::map<std::string, std::string> method;
  std::vector<MeasuredWorkload> workloads;
  std::vector<MeasuredTransfer> transfers;
  std::vector<std::string> left_out;
  std::vector<std::string> expected;  // what is usual for such a device, in words
};

Json measure_json(const Measured& measured);

// One row a workload.
Table measure_table(const std::vector<MeasuredWorkload>& workloads);
std::string measure_text(const Measured& measured, bool markdown, Style style);

// The same as a profile: llmcalc.device/1 with a `measured:` part.
std::string measured_profile(const Measured& measured);

}  // namespace llmcalc::report
