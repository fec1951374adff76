// Reading and writing patterns of einops.
#include <algorithm>

#include "core/diagnostics.hpp"
#include "core/einsum/rearrangement.hpp"
#include "core/suggest.hpp"

namespace llmcalc::einsum {
namespace {

constexpr std::size_t longest_text = 1000;  // characters
constexpr const char* dots = "...";

[[noreturn]] void fail(std::string_view pattern, const std::string& what, std::string hint = {}) {
  throw Error(Exit::bad_input, "pattern " + in_quotes(pattern) + ": " + what, std::move(hint));
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

class Side {
 public:
  Side(std::string_view text, std::string_view whole) : text_(text), whole_(whole) {}

  std::vector<Group> read() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == ' ' || c == '\t') {
        ++at_;
      } else if (c == '(') {
        if (open_) fail(whole_, "brackets inside brackets");
        open_ = true;
        groups_.push_back({{}, true});
        ++at_;
      } else if (c == ')') {
        if (!open_) fail(whole_, "a bracket is closed that was not opened");
        open_ = false;
        ++at_;
      } else if (text_.substr(at_, 3) == dots) {
        add({dots, 0});
        at_ += 3;
      } else if (is_digit(c) || is_letter(c) || c == '_') {
        word();
      } else {
        fail(whole_, in_quotes(text_.substr(at_, 1)) + " has no meaning here",
             "axes are names parted by spaces, as in \"b s (h d) -> b h s d\"");
      }
    }
    if (open_) fail(whole_, "a bracket is not closed");
    return std::move(groups_);
  }

 private:
  void word() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && (is_digit(text_[at_]) || is_letter(text_[at_]) || text_[at_] == '_')) ++at_;
    const std::string_view word = text_.substr(begin, at_ - begin);
    if (!is_digit(word.front())) {
      if (word.front() == '_' || word.back() == '_')
        fail(whole_, "axis " + in_quotes(word) + " begins or ends with an underscore");
      add({std::string(word), 0});
      return;
    }
    Count length = 0;
    for (const char c : word) {
      constexpr Count base = 10;
      if (!is_digit(c)) fail(whole_, in_quotes(word) + " is neither a name nor a number");
      if (__builtin_mul_overflow(length, base, &length) || __builtin_add_overflow(length, c - '0', &length))
        fail(whole_, in_quotes(word) + " does not fit 64 bits");
    }
    if (length == 0) fail(whole_, "an axis has to have a length above 0");
    if (length > 1) {
      add({"", length});
    } else if (!open_) {
      groups_.push_back({{}, false});
    }
  }

  void add(Axis axis) {
    const auto same = [&](const Axis& other) { return !axis.name.empty() && axis.name == other.name; };
    for (const Group& group : groups_)
      if (std::any_of(group.axes.begin(), group.axes.end(), same))
        fail(whole_,
             axis.is_ellipsis() ? "two ellipses on one side" : "axis " + axis.name + " stands twice on one side");
    if (!open_) groups_.push_back({{}, false});
    groups_.back().axes.push_back(std::move(axis));
  }

  std::string_view text_, whole_;
  std::vector<Group> groups_;
  std::size_t at_ = 0;
  bool open_ = false;
};

template <class Visit>
void each_axis(const std::vector<Group>& side, Visit visit) {
  for (const Group& group : side)
    for (const Axis& axis : group.axes) visit(axis);
}

bool has(const std::vector<Group>& side, const std::string& name) {
  bool found = false;
  each_axis(side, [&](const Axis& axis) { found = found || axis.name == name; });
  return found;
}

// What each operation allows on one side only.
void check(const Pattern& pattern, Rearrangement kind, std::string_view text) {
  if (has(pattern.right, dots) && !has(pattern.left, dots)) fail(text, "an ellipsis on the right side only");
  for (const Group& group : pattern.left)
    if (group.in_brackets &&
        std::any_of(group.axes.begin(), group.axes.end(), [](const Axis& a) { return a.is_ellipsis(); }))
      fail(text, "an ellipsis in brackets on the left side: it is not known how to split that axis");
  each_axis(pattern.left, [&](const Axis& axis) {
    if (axis.name.empty()) {
      if (kind == Rearrangement::rearrange)
        fail(text, "rearrange takes no anonymous axes but 1, and here is " + std::to_string(axis.length));
      if (kind == Rearrangement::repeat)
        fail(text, "repeat keeps all axes of the left side, and " + std::to_string(axis.length) + " has no name");
    } else if (kind != Rearrangement::reduce && !has(pattern.right, axis.name)) {
      fail(text, "axis " + axis.name + " is on the left side only",
           kind == Rearrangement::rearrange ? "reduce takes axes away" : "");
    }
  });
  each_axis(pattern.right, [&](const Axis& axis) {
    if (axis.name.empty()) {
      if (kind == Rearrangement::repeat) return;
      fail(text, "anonymous axis " + std::to_string(axis.length) + " on the right side", "repeat adds axes");
    }
    if (kind != Rearrangement::repeat && !has(pattern.left, axis.name))
      fail(text, "axis " + axis.name + " is on the right side only", "repeat adds axes");
  });
}

std::string side_text(const std::vector<Group>& side) {
  std::string text;
  for (const Group& group : side) {
    if (!text.empty()) text += ' ';
    std::string inside;
    for (const Axis& axis : group.axes) {
      if (!inside.empty()) inside += ' ';
      inside += axis.name.empty() ? std::to_string(axis.length) : axis.name;
    }
    if (group.in_brackets) {
      text += "(" + inside + ")";
    } else {
      text += inside.empty() ? "1" : inside;
    }
  }
  return text;
}

}  // namespace

bool operator==(const Axis& a, const Axis& b) { return a.name == b.name && a.length == b.length; }
bool operator==(const Group& a, const Group& b) { return a.axes == b.axes && a.in_brackets == b.in_brackets; }
bool operator==(const Pattern& a, const Pattern& b) { return a.left == b.left && a.right == b.right; }

Pattern parse_pattern(std::string_view text, Rearrangement kind) {
  if (text.size() > longest_text) throw Error(Exit::bad_input, "a pattern has at most 1000 characters");
  const std::size_t arrow = text.find("->");
  if (arrow == std::string_view::npos)
    fail(text, "there is no ->", "a pattern says what is there and what is wanted: \"b s (h d) -> b h s d\"");
  Pattern pattern;
  pattern.left = Side(text.substr(0, arrow), text).read();
  pattern.right = Side(text.substr(arrow + 2), text).read();
  check(pattern, kind, text);
  return pattern;
}

std::string to_string(const Pattern& pattern) { return side_text(pattern.left) + " -> " + side_text(pattern.right); }

}  // namespace llmcalc::einsum
