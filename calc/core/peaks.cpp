#include "core/peaks.hpp"

#include <cmath>
#include <map>

#include "core/quantity.hpp"
#include "core/rate_classes.hpp"
#include "core/suggest.hpp"

namespace llmcalc {
namespace {

constexpr double sparse_factor = 2;  // 2:4 sparsity doubles what a datasheet can claim

bool near(double ratio, double expected) { return std::abs(ratio / expected - 1) <= peak_tolerance; }

// How many times as fast a format can be as another on one device. The widest span among known devices, and none has
// reason to leave it: halving the bits at most doubles a rate, except where fp32 accumulation is cut (4) or a
// format without matrix units stands beside one with them.
struct Ratio {
  std::string_view narrow, wide;
  double least, most;
};

constexpr Ratio plausible_ratios[] = {
    {"bf16", "tf32", 1, 4},  {"fp16", "tf32", 1, 4},  {"tf32", "fp32", 1, 16},
    {"bf16", "fp32", 1, 32}, {"fp16", "fp32", 1, 32}, {"fp8", "bf16", 1, 2},
    {"fp6", "fp8", 1, 2},    {"fp4", "fp8", 1, 4},    {"int8", "bf16", 0, 4},
};

// A built-in device goes by its id, another by its file.
const std::string& label(const Device& device) { return device.id.empty() ? device.source : device.id; }

Place place_of(const Device& device, std::string key) { return Place{device.source, 0, 0, std::move(key)}; }

void report_peak(const Device& device, const PeakCheck& check, Diagnostics& diagnostics) {
  const Place place = place_of(device, "peak." + check.key);
  const std::string figures = check.key + " is stated as " + format_rate(check.stated) + ", but " +
                              std::to_string(device.units->count) + " units at their clock give " +
                              format_rate(*check.derived);
  if (check.verdict == PeakVerdict::looks_sparse) {
    diagnostics.error(place, figures + ": half of it; it looks like the figure with 2:4 sparsity",
                      "state the dense rate, and this one as `" + check.key + "_sparse` if you want to keep it");
  } else if (check.verdict == PeakVerdict::disagrees) {
    diagnostics.error(place, figures + " (" + format_percent(check.deviation()) + ")",
                      "correct it, or say why it is right: `waived: {" + check.key + ": the reason}`");
  }
}

void report_ratios(const Device& device, Diagnostics& diagnostics) {
  for (const Ratio& ratio : plausible_ratios) {
    const auto narrow = device.peak.find(std::string(ratio.narrow)), wide = device.peak.find(std::string(ratio.wide));
    if (narrow == device.peak.end() || wide == device.peak.end()) continue;
    if (device.waived.count(narrow->first) != 0 || device.waived.count(wide->first) != 0) continue;
    const double times = narrow->second / wide->second;
    if (times >= ratio.least * (1 - peak_tolerance) && times <= ratio.most * (1 + peak_tolerance)) continue;
    diagnostics.error(place_of(device, "peak." + narrow->first),
                      narrow->first + " is " + format_significant(times, 3) + " times " + wide->first +
                          "; on known devices it is at least " + format_significant(ratio.least, 2) + " and at most " +
                          format_significant(ratio.most, 2) + " times",
                      "one of the two may be a figure with sparsity, or of other units; `waived` silences this");
  }
}

}  // namespace

std::optional<FlopsPerSecond> derived_peak(const Device& device, std::string_view key) {
  if (!device.units) return std::nullopt;
  const ComputeUnits& units = *device.units;
  const std::optional<int> per_clock = operations_per_clock(units.rate_class, key);
  if (!per_clock) return std::nullopt;
  const Hertz clock = is_vector_rate(key) ? units.vector_clock.value_or(units.clock) : units.clock;
  return FlopsPerSecond(static_cast<double>(units.count) * clock.value() * *per_clock);
}

std::vector<PeakCheck> check_peaks(const Device& device) {
  std::vector<PeakCheck> checks;
  for (const auto& [key, stated] : device.peak) {
    PeakCheck check{key, stated, derived_peak(device, key), PeakVerdict::not_derivable};
    if (check.derived) {
      const double ratio = stated / *check.derived;
      const bool waived = device.waived.count(key) != 0;
      check.verdict = near(ratio, 1)               ? PeakVerdict::agrees
                      : waived                     ? PeakVerdict::waived
                      : near(ratio, sparse_factor) ? PeakVerdict::looks_sparse
                                                   : PeakVerdict::disagrees;
    }
    checks.push_back(std::move(check));
  }
  return checks;
}

void validate_peaks(const Device& device, Diagnostics& diagnostics) {
  if (device.units && !is_rate_class(device.units->rate_class)) {
    diagnostics.error(place_of(device, "units.rate_class"),
                      "no rate class " + in_quotes(device.units->rate_class) + " is known",
                      did_you_mean(device.units->rate_class, rate_class_names()));
    return;
  }
  std::vector<std::string> not_derivable;
  for (const PeakCheck& check : check_peaks(device)) {
    if (check.verdict == PeakVerdict::not_derivable) {
      not_derivable.push_back(check.key);
    } else {
      report_peak(device, check, diagnostics);
    }
  }
  report_ratios(device, diagnostics);
  if (!device.peak.empty() && !device.units) {
    diagnostics.warning(place_of(device, "units"),
                        "peaks are not derivable: no units, clock and rate class are stated");
  } else if (!not_derivable.empty()) {
    diagnostics.warning(place_of(device, "peak"), join(not_derivable) + (not_derivable.size() == 1 ? " is" : " are") +
                                                      " not derivable: rate class " + device.units->rate_class +
                                                      " has no such rate");
  }
}

void validate_names(const std::vector<Device>& devices, Diagnostics& diagnostics) {
  std::map<std::string, std::vector<const Device*>> owners;
  for (const Device& device : devices) {
    std::map<std::string, bool> own;  // a name that equals an alias of the same file is one name
    own[device.name] = true;
    for (const std::string& alias : device.aliases) own[alias] = true;
    for (const auto& [name, unused] : own) {
      std::vector<const Device*>& sharing = owners[name];
      const bool same_file = !sharing.empty() && label(*sharing.back()) == label(device);
      if (!same_file) sharing.push_back(&device);
    }
  }
  for (const auto& [name, sharing] : owners) {
    if (sharing.size() < 2) continue;
    std::map<Count, int> capacities;
    std::vector<std::string> labels;
    bool told_apart = true;
    for (const Device* device : sharing) {
      told_apart = told_apart && ++capacities[device->memory_capacity.value()] == 1;
      labels.push_back(label(*device));
    }
    const std::string message = in_quotes(name) + " is the name of " + join(labels);
    const Place place = place_of(*sharing.back(), "aliases");
    if (told_apart) {
      diagnostics.warning(place, message + "; alone it is refused, with the memory size it is not");
    } else {
      diagnostics.error(place, message + ", and their memory is equal too", "a name must tell devices apart");
    }
  }
}

}  // namespace llmcalc
