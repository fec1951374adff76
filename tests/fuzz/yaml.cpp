// YAML of any kind, taken for a device and for run options.
#include "read/yaml.hpp"

#include "core/run.hpp"
#include "read/device.hpp"
#include "tests/fuzz/target.hpp"

namespace {

void take(std::string_view input) {
  using namespace llmcalc;
  const Value root = read_yaml(input, "input");
  Diagnostics diagnostics;
  const Device device = read_device(root, "input", diagnostics, Purpose::validate);
  if (!diagnostics.has_errors()) {
    fuzz::require(!device.peak.empty() || !device.measured.empty(), "a good device has a peak");
    for (const auto& [name, peak] : device.peak) fuzz::require(peak.value() > 0, "a peak is positive");
  }
  read_run_options(root, diagnostics);
  diagnostics.throw_if_errors();
}

}  // namespace

LLMCALC_FUZZ_TARGET(take)
