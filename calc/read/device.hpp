// The tree of a device profile (hardware/*.yaml, or what `measure` wrote) to a Device.
#pragma once

#include <string>

#include "core/device.hpp"
#include "core/diagnostics.hpp"
#include "core/value.hpp"

namespace llmcalc {

// What the device is read for. A profile that is to be published must name its sources; one in use should.
enum class Purpose { use, validate };

// Every problem goes to `diagnostics`; the Device is good when there was no error. `source`: the path, or "built-in".
Device read_device(const Value& root, const std::string& source, Diagnostics& diagnostics,
                   Purpose purpose = Purpose::use);

}  // namespace llmcalc
