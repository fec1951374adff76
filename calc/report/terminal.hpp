// Colour, width and bars. Colour only where a person looks at a terminal; a bar reads the same without it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace llmcalc::report {

// The stream (a file descriptor) is a terminal that knows colour, and NO_COLOR (https://no-color.org) is not set.
bool colour_wanted(int stream);

constexpr std::size_t kReportWidth = 100;  // columns of a terminal that reports are written for
constexpr std::size_t kLeastWidth = 60;    // narrower ones get lines that are too long

// How text is written.
struct Style {
  Style(bool with_colour = false, std::size_t columns = kReportWidth)  // NOLINT(google-explicit-constructor)
      : colour(with_colour), width(columns) {}
  bool colour;
  std::size_t width;
};

// What the environment's COLUMNS says, else the terminal's own width, else kReportWidth; between the two limits above.
std::size_t columns_of(int stream);

std::string bold(std::string_view text, bool colour);
std::string dim(std::string_view text, bool colour);
std::string red(std::string_view text, bool colour);
std::string green(std::string_view text, bool colour);
std::string yellow(std::string_view text, bool colour);

// `fraction` of `width` columns as a bar, filled up with spaces to `width`; a share above 1 fills the bar and ends in
// an arrow, and any share above 0 is visible.
std::string bar(double fraction, std::size_t width);

}  // namespace llmcalc::report
