#include "report/terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>

namespace llmcalc::report {

namespace {

std::string styled(const char* code, std::string_view text, bool colour) {
  if (!colour) return std::string(text);
  return "\x1b[" + std::string(code) + "m" + std::string(text) + "\x1b[0m";  // ECMA-48, select graphic rendition
}

}  // namespace

bool colour_wanted(int stream) {
  const char* no_color = std::getenv("NO_COLOR");
  if (no_color != nullptr && *no_color != '\0') return false;
  const char* terminal = std::getenv("TERM");
  if (terminal == nullptr || std::string_view(terminal) == "dumb") return false;
  return ::isatty(stream) == 1;
}

std::size_t columns_of(int stream) {
  std::size_t columns = 0;
  if (const char* given = std::getenv("COLUMNS")) {
    const std::string_view text = given;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), columns);
    if (read.ec != std::errc() || read.ptr != text.data() + text.size()) columns = 0;
  }
  winsize size{};
  if (columns == 0 && ::isatty(stream) == 1 && ::ioctl(stream, TIOCGWINSZ, &size) == 0) columns = size.ws_col;
  return columns == 0 ? kReportWidth : std::clamp(columns, kLeastWidth, kReportWidth);
}

std::string bold(std::string_view text, bool colour) { return styled("1", text, colour); }
std::string dim(std::string_view text, bool colour) { return styled("2", text, colour); }
std::string red(std::string_view text, bool colour) { return styled("31", text, colour); }
std::string green(std::string_view text, bool colour) { return styled("32", text, colour); }
std::string yellow(std::string_view text, bool colour) { return styled("33", text, colour); }

std::string bar(double fraction, std::size_t width) {
  if (!(fraction > 0) || width == 0) return std::string(width, ' ');
  const bool over = fraction > 1;
  const std::size_t cells = over ? width : static_cast<std::size_t>(std::lround(fraction * static_cast<double>(width)));
  const std::size_t filled = cells == 0 ? 1 : cells;
  std::string out;
  for (std::size_t i = 0; i < filled; ++i) out += over && i + 1 == filled ? "►" : "█";
  return out + std::string(width - filled, ' ');
}

}  // namespace llmcalc::report
