// JSON text to a tree of values with places.
#pragma once

#include <string>
#include <string_view>

#include "core/value.hpp"

namespace llmcalc {

// `file` is what messages call the text. Throws Error(bad_input) with every duplicate key, or the first syntax error.
// At most 64 levels and 16 MiB; numbers beyond 64 bits stay as their text, of kind `real`.
Value read_json(std::string_view text, const std::string& file);

}  // namespace llmcalc
