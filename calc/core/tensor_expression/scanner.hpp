// Reading a short text character by character, with the place of what is wrong in the message.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/diagnostics.hpp"
#include "core/suggest.hpp"
#include "core/units.hpp"

namespace llmcalc {

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  bool at_end() {
    skip_spaces();
    return at_ == text_.size();
  }
  // The next character that is no space; '\0' at the end.
  char peek() { return at_end() ? '\0' : text_[at_]; }
  bool starts_with(std::string_view word) {
    skip_spaces();
    return text_.substr(at_).starts_with(word);
  }
  // Takes `word` if it stands here.
  bool take(std::string_view word) {
    if (!starts_with(word)) return false;
    at_ += word.size();
    return true;
  }
  void expect(std::string_view word, const char* why) {
    if (!take(word)) fail("expected " + in_quotes(word) + " " + why);
  }
  // Letters, digits and underscores, not beginning with a digit; empty when there are none.
  std::string_view word() {
    skip_spaces();
    std::size_t end = at_;
    while (end < text_.size() && is_word(text_[end]) && !(end == at_ && is_digit(text_[end]))) ++end;
    const std::string_view found = text_.substr(at_, end - at_);
    at_ = end;
    return found;
  }
  // A whole number with an optional sign, `_` between digits allowed. Nothing when none stands here.
  std::optional<Count> integer() {
    skip_spaces();
    const std::size_t begin = at_;
    const bool negative = text_.substr(at_, 1) == "-";
    if (negative || text_.substr(at_, 1) == "+") ++at_;
    if (at_ == text_.size() || !is_digit(text_[at_])) {
      at_ = begin;
      return std::nullopt;
    }
    Count value = 0;
    for (; at_ < text_.size() && (is_digit(text_[at_]) || text_[at_] == '_'); ++at_) {
      if (text_[at_] == '_') continue;
      constexpr Count base = 10;
      if (__builtin_mul_overflow(value, base, &value) || __builtin_add_overflow(value, text_[at_] - '0', &value)) {
        at_ = begin;
        fail("this number does not fit 64 bits");
      }
    }
    return negative ? -value : value;
  }
  std::size_t place() const { return at_; }
  std::string_view rest() const { return text_.substr(at_); }
  void skip(std::size_t characters) { at_ += characters; }

  [[noreturn]] void fail(const std::string& what, std::string hint = {}) {
    skip_spaces();
    const std::string where = at_ == text_.size() ? "at its end" : "at character " + std::to_string(at_ + 1);
    throw Error(Exit::bad_input, in_quotes(text_) + ", " + where + ": " + what, std::move(hint));
  }

 private:
  static bool is_digit(char c) { return c >= '0' && c <= '9'; }
  static bool is_word(char c) { return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
  void skip_spaces() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n')) ++at_;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace llmcalc
