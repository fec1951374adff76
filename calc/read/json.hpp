// JSON text to a tree of values with places.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/value.hpp"

namespace llmcalc {

// `file` is what messages call the text. Throws Error(bad_input) with every duplicate key, or the first syntax error.
// At most 64 levels and 16 MiB; numbers beyond 64 bits stay as their text, of kind `real`.
Value read_json(std::string_view text, const std::string& file);

// What stands in a JSON text, in its order: for documents whose tree would be too large to keep. A function may refuse
// by throwing.
class JsonEvents {
 public:
  virtual ~JsonEvents() = default;
  virtual void start_map() = 0;
  virtual void end_map() = 0;
  virtual void start_list() = 0;
  virtual void end_list() = 0;
  virtual void key(const std::string& text) = 0;
  virtual void text(const std::string& text) = 0;
  virtual void whole(std::uint64_t number) = 0;
  virtual void other() = 0;  // null, true, false, a number below 0 or with a fraction or beyond 64 bits
};

// Calls `events` for all of the text; `what` it is for the error message ("the header"). Throws Error(bad_input) where
// the text is no JSON.
void walk_json(std::string_view text, const std::string& file, const std::string& what, JsonEvents& events);

}  // namespace llmcalc
