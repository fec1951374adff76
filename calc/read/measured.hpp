// The `measured:` part of a device profile, as `llmcalc measure` writes it.
#pragma once

#include "core/device.hpp"
#include "core/diagnostics.hpp"
#include "core/value.hpp"

namespace llmcalc {

// Fills measured_method and measured. Keys it does not know are left alone: newer versions write more of them.
void read_measured(const Value& map, Device& device, Diagnostics& diagnostics);

}  // namespace llmcalc
