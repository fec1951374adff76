// What every text file must be before a parser sees it: of bounded size, UTF-8, without control characters.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace llmcalc {

// Line and column (bytes), from 1, of the byte at `offset`.
struct LineColumn {
  int line = 1, column = 1;
};
LineColumn line_column(std::string_view text, std::size_t offset);

bool is_utf8(std::string_view text);

// Throws Error(bad_input) with the place of the first byte that cannot stand in a profile; for an empty text too.
void check_text(std::string_view text, const std::string& file, std::size_t limit);

}  // namespace llmcalc
