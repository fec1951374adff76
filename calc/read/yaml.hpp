// YAML text to a tree of values with places.
#pragma once

#include <string>
#include <string_view>

#include "core/value.hpp"

namespace llmcalc {

// `file` is what messages call the text. Throws Error(bad_input) with every duplicate key, or the first syntax error.
// One document; no anchors, aliases or tags; at most 64 levels and 2 MiB (a profile has a few KiB).
Value read_yaml(std::string_view text, const std::string& file);

}  // namespace llmcalc
