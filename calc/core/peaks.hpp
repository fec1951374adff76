// Stated peaks against derived ones: what `llmcalc validate` says about a device beyond its own file being readable.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/device.hpp"
#include "core/diagnostics.hpp"
#include "core/units.hpp"

namespace llmcalc {

// Datasheets round; a stated peak farther than this from the derived one is reported.
constexpr double peak_tolerance = 0.025;

// Units x clock x operations per clock of the rate class, dense. Nothing when the device states no units, or its rate
// class has no rate under this key.
std::optional<FlopsPerSecond> derived_peak(const Device& device, std::string_view key);

enum class PeakVerdict { agrees, waived, disagrees, looks_sparse, not_derivable };

struct PeakCheck {
  std::string key;
  FlopsPerSecond stated;
  std::optional<FlopsPerSecond> derived;
  PeakVerdict verdict = PeakVerdict::not_derivable;

  double deviation() const { return derived ? stated / *derived - 1 : 0; }  // +0.02: stated 2 % above derived
};

// Every stated peak, by key.
std::vector<PeakCheck> check_peaks(const Device& device);

// Adds an error for each stated peak that disagrees (twice the derived one: most likely a figure with sparsity), for an
// unknown rate class and for a ratio between two formats that no matrix unit has; a warning for peaks that cannot be
// derived.
void validate_peaks(const Device& device, Diagnostics& diagnostics);

// Adds a warning for a name that two devices share and their memory sizes tell apart, an error where nothing does.
void validate_names(const std::vector<Device>& devices, Diagnostics& diagnostics);

}  // namespace llmcalc
