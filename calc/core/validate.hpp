// Checks on a device that hold whatever file it came from.
#pragma once

#include "core/device.hpp"
#include "core/diagnostics.hpp"

namespace llmcalc {

// Adds an error for what no device can have (no memory, more memory shown than built in, no peak at all), and a
// warning for what is doubtful. Re-deriving peaks from units and clock is not part of it.
void validate_device(const Device& device, Diagnostics& diagnostics);

}  // namespace llmcalc
