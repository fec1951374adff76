// Colour and bars. Colour only where a person looks at a terminal; a bar reads the same without it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace llmcalc::report {

// The stream (a file descriptor) is a terminal that knows colour, and NO_COLOR (https://no-color.org) is not set.
bool colour_wanted(int stream);

std::string bold(std::string_view text, bool colour);
std::string dim(std::string_view text, bool colour);
std::string red(std::string_view text, bool colour);
std::string green(std::string_view text, bool colour);
std::string yellow(std::string_view text, bool colour);

// `fraction` of `width` columns as a bar, filled up with spaces to `width`; a share above 1 fills the bar and ends in
// an arrow, and any share above 0 is visible.
std::string bar(double fraction, std::size_t width);

}  // namespace llmcalc::report
