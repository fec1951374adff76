#include "read/text.hpp"

#include <algorithm>

#include "read/tree.hpp"

namespace llmcalc {
namespace {

// The length of the UTF-8 sequence at the start of `text`; 0 when it is none (also for surrogates, overlong forms and
// code points beyond U+10FFFF).
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  const auto follows = [&](std::size_t i) { return (byte(i) & 0xC0U) == 0x80U; };
  const unsigned first = byte(0);
  if (first < 0x80U) return 1;
  if (first >= 0xC2U && first <= 0xDFU) return follows(1) ? 2 : 0;
  if (first >= 0xE0U && first <= 0xEFU) {
    if (!follows(1) || !follows(2)) return 0;
    const bool overlong = first == 0xE0U && byte(1) < 0xA0U, surrogate = first == 0xEDU && byte(1) >= 0xA0U;
    return overlong || surrogate ? 0 : 3;
  }
  if (first >= 0xF0U && first <= 0xF4U) {
    if (!follows(1) || !follows(2) || !follows(3)) return 0;
    const bool overlong = first == 0xF0U && byte(1) < 0x90U, beyond = first == 0xF4U && byte(1) >= 0x90U;
    return overlong || beyond ? 0 : 4;
  }
  return 0;
}

bool is_control(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (byte < 0x20U && c != '\t' && c != '\n' && c != '\r') || byte == 0x7FU;
}

}  // namespace

LineColumn line_column(std::string_view text, std::size_t offset) {
  const std::string_view before = text.substr(0, std::min(offset, text.size()));
  const std::size_t start = before.rfind('\n') + 1;  // npos + 1 is 0
  return {static_cast<int>(std::count(before.begin(), before.end(), '\n')) + 1,
          static_cast<int>(before.size() - start) + 1};
}

bool is_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = utf8_length(text.substr(i));
    if (length == 0) return false;
    i += length;
  }
  return true;
}

void check_text(std::string_view text, const std::string& file, std::size_t limit) {
  constexpr std::size_t mebi = 1024 * 1024;
  if (text.size() > limit) {
    syntax_error(file, 0, 0, "is larger than " + std::to_string(limit / mebi) + " MiB; a profile has a few KiB");
  }
  bool blank = true;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = is_control(text[i]) ? 0 : utf8_length(text.substr(i));
    if (length == 0) {
      const LineColumn at = line_column(text, i);
      syntax_error(file, at.line, at.column,
                   is_control(text[i]) ? "a control character; this is no text file" : "is not UTF-8 text");
    }
    blank = blank && (text[i] == ' ' || text[i] == '\t' || text[i] == '\n' || text[i] == '\r');
    i += length;
  }
  if (blank) syntax_error(file, 0, 0, "the file is empty");
}

}  // namespace llmcalc
