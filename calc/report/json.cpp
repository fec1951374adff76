#include "report/json.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <stdexcept>

#include "report/csv.hpp"
#include "report/layout.hpp"
#include "report/utf8.hpp"

namespace llmcalc::report {

namespace {

constexpr std::size_t kIndent = 2;
constexpr std::size_t kLineWidth = 100;  // arrays of plain values up to here stay on one line

std::string escaped(char32_t code) {
  constexpr const char* digits = "0123456789abcdef";
  constexpr unsigned kNibble = 4, kNibbleMask = 0xF;
  return std::string("\\u00") + digits[(code >> kNibble) & kNibbleMask] + digits[code & kNibbleMask];
}

// Quotes, backslashes and control characters escaped (RFC 8259, section 7); what is no UTF-8 becomes U+FFFD.
std::string quoted(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    const Utf8Character character = first_character(text);
    if (!character.valid) {
      out += "\xEF\xBF\xBD";
    } else if (character.code == U'"' || character.code == U'\\') {
      out += '\\';
      out += text.front();
    } else if (character.code == U'\n') {
      out += "\\n";
    } else if (character.code == U'\t') {
      out += "\\t";
    } else if (character.code < U' ') {
      out += escaped(character.code);
    } else {
      out += text.substr(0, character.bytes);
    }
    text.remove_prefix(character.bytes);
  }
  return out + '"';
}

void new_line(std::string& out, std::size_t depth) {
  out += '\n';
  out.append(depth * kIndent, ' ');
}

}  // namespace

Json::Json(bool value) : kind_(Kind::literal), text_(value ? "true" : "false") {}

Json::Json(double value) : kind_(Kind::literal) {
  if (!std::isfinite(value)) throw std::logic_error("a number that is not finite was about to be written as JSON");
  std::array<char, 32> digits{};  // the longest shortest form of a double has 24 characters
  const std::to_chars_result end = std::to_chars(digits.data(), digits.data() + digits.size(), value);
  text_.assign(digits.data(), end.ptr);
}

Json::Json(Int128 value) : kind_(Kind::literal), text_(to_string(value)) {}

Json::Json(std::string_view text) : kind_(Kind::text), text_(text) {}

Json& Json::set(std::string_view key, Json value) {
  if (kind_ != Kind::object) throw std::logic_error("a member was set on JSON that is no object");
  const auto found =
      std::find_if(members_.begin(), members_.end(), [&](const auto& member) { return member.first == key; });
  if (found != members_.end()) {
    found->second = std::move(value);
  } else {
    members_.emplace_back(std::string(key), std::move(value));
  }
  return *this;
}

Json& Json::push(Json value) {
  if (kind_ != Kind::array) throw std::logic_error("an item was added to JSON that is no array");
  items_.push_back(std::move(value));
  return *this;
}

std::size_t Json::written_length() const { return text_.size() + (kind_ == Kind::text ? 2 : 0); }

void Json::write(std::string& out, std::size_t depth) const {
  if (kind_ == Kind::literal) {
    out += text_;
  } else if (kind_ == Kind::text) {
    out += quoted(text_);
  } else if (is_empty()) {
    out += kind_ == Kind::object ? "{}" : "[]";
  } else if (kind_ == Kind::object) {
    out += '{';
    for (std::size_t i = 0; i < members_.size(); ++i) {
      if (i > 0) out += ',';
      new_line(out, depth + 1);
      out += quoted(members_[i].first) + ": ";
      members_[i].second.write(out, depth + 1);
    }
    new_line(out, depth);
    out += '}';
  } else {
    std::size_t length = depth * kIndent;
    bool plain = true;
    for (const Json& item : items_) {
      plain = plain && item.is_plain();
      length += item.written_length() + 2;
    }
    const bool one_line = plain && length <= kLineWidth;
    out += '[';
    for (std::size_t i = 0; i < items_.size(); ++i) {
      if (i > 0) out += one_line ? ", " : ",";
      if (!one_line) new_line(out, depth + 1);
      items_[i].write(out, depth + 1);
    }
    if (!one_line) new_line(out, depth);
    out += ']';
  }
}

std::string Json::dump() const {
  std::string out;
  write(out, 0);
  out += '\n';
  return out;
}

void Json::flatten(const std::string& path, std::string& out) const {
  const std::string prefix = path.empty() ? "" : path + ".";
  for (const auto& [key, value] : members_) value.flatten(prefix + key, out);
  for (std::size_t i = 0; i < items_.size(); ++i) items_[i].flatten(prefix + std::to_string(i), out);
  if (is_plain()) out += csv_field(path) + "," + csv_field(text_) + "\n";
}

std::string Json::flat_csv() const {
  std::string out = "path,value\n";
  flatten("", out);
  return out;
}

}  // namespace llmcalc::report
