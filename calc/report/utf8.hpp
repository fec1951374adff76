// Reading UTF-8 one character at a time.
#pragma once

#include <cstddef>
#include <string_view>

namespace llmcalc::report {

struct Utf8Character {
  char32_t code = 0;
  std::size_t bytes = 1;
  bool valid = false;  // else `bytes` is 1 and `code` means nothing
};

// The character at the start of `text`, which is not empty. Overlong forms, surrogates and cut sequences are invalid.
Utf8Character first_character(std::string_view text);

}  // namespace llmcalc::report
