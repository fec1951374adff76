#include "core/validate.hpp"

#include "core/quantity.hpp"

namespace llmcalc {
namespace {

// Labels are rounded: a board sold as 128 GB may show 128.5. Beyond this share the two figures contradict each other.
constexpr double label_rounding = 1.02;

}  // namespace

void validate_device(const Device& device, Diagnostics& diagnostics) {
  const auto place = [&](const char* key) { return Place{device.source, 0, 0, key}; };
  if (device.peak.empty() && device.measured.empty()) {
    diagnostics.error(place("peak"), "at least one peak rate is required, such as bf16: 989.4 TFLOP/s");
  }
  const bool known = device.memory_visible && device.memory_capacity > Bytes(0);
  if (known && device.memory_visible->as_double() > label_rounding * device.memory_capacity.as_double()) {
    diagnostics.error(place("memory.visible"), "the driver cannot show " + format_both(*device.memory_visible) +
                                                   " of a capacity of " + format_both(device.memory_capacity));
  }
  for (const auto& [key, reason] : device.waived) {
    if (device.peak.count(key) == 0) diagnostics.error(place("waived"), "there is no peak " + key + " to waive");
  }
}

}  // namespace llmcalc
