#include "report/layout.hpp"

#include <algorithm>
#include <cctype>
#include <iterator>

#include "report/utf8.hpp"

namespace llmcalc::report {

namespace {

struct Range {
  char32_t first, last;
};

// Characters that take no column of their own: combining marks, joiners, variation selectors.
constexpr Range zero_width[] = {
    {0x0300, 0x036F}, {0x200B, 0x200F}, {0x20D0, 0x20FF}, {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F}};
// Characters that take two: the wide and full-width blocks of Unicode's East Asian Width property, and emoji.
constexpr Range double_width[] = {{0x1100, 0x115F},   {0x2E80, 0x303E},   {0x3041, 0xA4CF},   {0xAC00, 0xD7A3},
                                  {0xF900, 0xFAFF},   {0xFE30, 0xFE6F},   {0xFF00, 0xFF60},   {0xFFE0, 0xFFE6},
                                  {0x1F300, 0x1F64F}, {0x1F680, 0x1F6FF}, {0x1F900, 0x1F9FF}, {0x20000, 0x3FFFD}};

template <std::size_t N>
bool in(const Range (&ranges)[N], char32_t code) {
  return std::any_of(std::begin(ranges), std::end(ranges),
                     [&](const Range& r) { return code >= r.first && code <= r.last; });
}

std::size_t columns(const Utf8Character& character) {
  if (!character.valid) return 1;
  if (in(zero_width, character.code)) return 0;
  return in(double_width, character.code) ? 2 : 1;
}

constexpr char32_t kDelete = 0x7F, kFirstC1 = 0x80, kLastC1 = 0x9F;

bool is_control(char32_t code) { return code < U' ' || code == kDelete || (code >= kFirstC1 && code <= kLastC1); }

// A number and its unit ("79.65 GiB", "40 %", "5 TFLOP/s", "295 FLOP/B") are not parted.
bool belongs_to(std::string_view word, const std::string& before) {
  if (word.empty() || std::isdigit(static_cast<unsigned char>(before.back())) == 0) return false;
  return word.front() == '%' || word.substr(1, 2) == "iB" || word.find("FLOP") <= 1;
}

// The line's own indentation stays, in front of every line it becomes.
void wrap_line(std::string_view line, std::size_t width, std::vector<std::string>& lines) {
  const std::string indent(std::min(line.find_first_not_of(' '), line.size()), ' ');
  line.remove_prefix(indent.size());
  width -= std::min(width, indent.size());
  std::string current;
  std::size_t used = 0;
  while (!line.empty()) {
    const std::size_t end = std::min(line.find(' '), line.size());
    const std::string_view word = line.substr(0, end);
    line.remove_prefix(std::min(end + 1, line.size()));
    const std::size_t columns_of_word = display_width(word);
    if (!current.empty() && used + 1 + columns_of_word > width) {
      const std::size_t last = current.rfind(' ');
      std::string carried;
      if (belongs_to(word, current) && last != std::string::npos) {
        carried = current.substr(last + 1);
        current.resize(last);
      }
      lines.push_back(indent + current);
      current = carried;
      used = display_width(current);
    }
    if (!current.empty()) {
      current += ' ';
      ++used;
    }
    current += word;
    used += columns_of_word;
  }
  lines.push_back(indent + current);
}

}  // namespace

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  while (!text.empty()) {
    const Utf8Character character = first_character(text);
    width += columns(character);
    text.remove_prefix(character.bytes);
  }
  return width;
}

std::string pad_right(std::string_view text, std::size_t width) {
  const std::size_t used = display_width(text);
  return std::string(text) + std::string(width > used ? width - used : 0, ' ');
}

std::string pad_left(std::string_view text, std::size_t width) {
  const std::size_t used = display_width(text);
  return std::string(width > used ? width - used : 0, ' ') + std::string(text);
}

std::vector<std::string> wrap(std::string_view text, std::size_t width) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    wrap_line(text.substr(0, end), width, lines);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::string printable(std::string_view text, std::string_view keep) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Utf8Character character = first_character(text);
    const bool kept = character.bytes == 1 && keep.find(text.front()) != std::string_view::npos;
    if (!character.valid) {
      out += "\xEF\xBF\xBD";  // U+FFFD, the replacement character
    } else if (is_control(character.code) && !kept) {
      out += ' ';
    } else {
      out += text.substr(0, character.bytes);
    }
    text.remove_prefix(character.bytes);
  }
  return out;
}

}  // namespace llmcalc::report
