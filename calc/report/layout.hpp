// Text on a grid of columns: how wide a text is, padding, wrapping, and taking out what would disturb a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace llmcalc::report {

// Columns that UTF-8 text takes: combining marks none, East Asian wide characters and emoji two.
std::size_t display_width(std::string_view text);

std::string pad_right(std::string_view text, std::size_t width);  // spaces behind the text
std::string pad_left(std::string_view text, std::size_t width);

// Lines of at most `width` columns, broken at spaces (a longer word stands alone). A newline in the text stays one, and
// so does indentation; an empty text has no line.
std::vector<std::string> wrap(std::string_view text, std::size_t width);

// Control characters become spaces and bytes that are no UTF-8 become U+FFFD, so that a name read from a file can
// neither steer the terminal nor break a table. Characters in `keep` stay.
std::string printable(std::string_view text, std::string_view keep = {});

}  // namespace llmcalc::report
