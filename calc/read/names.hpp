// Names of devices as drivers and people write them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/device.hpp"
#include "core/units.hpp"

namespace llmcalc {

// Lower case, runs of blanks made one, none at the ends. Two names are the same when these are equal.
std::string normal_name(std::string_view name);

// A normal name without the vendor in front: some drivers put it there, older ones do not.
std::string without_vendor(std::string_view normal);

// A memory size inside a normal name ("nvidia geforce rtx 3080 12gb"), and the name without it.
struct SizedName {
  std::string rest;
  Count gigabytes = 0;
};
std::optional<SizedName> memory_size_in(std::string_view normal);

// Whether a label of so many GB stands for this device's memory (vendors round, in either kind of GB).
bool has_memory(const Device& device, Count gigabytes);

// The built-in device of that id or name; its source is "built-in". Throws Error(bad_input) when there is none (with
// the nearest ones) or when several share the name.
Device find_device(const std::string& name, Diagnostics& diagnostics);

}  // namespace llmcalc
