// yaml-cpp's events to a tree. Its own node type would let a second key of the same name pass unseen.
#include "read/yaml.hpp"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <sstream>

#include "read/text.hpp"
#include "read/tree.hpp"

namespace llmcalc {
namespace {

constexpr std::size_t largest_yaml = 1024 * 1024;  // bytes

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// A number as YAML's core schema has it, with `_` between digits: sign, digits, fraction, exponent. Its digits go to
// `digits`, without sign `+` and `_`.
bool is_number(std::string_view text, std::string& digits, bool& whole) {
  std::size_t i = 0;
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) ++i;
  if (!text.empty() && text[0] == '-') digits += '-';
  bool any = false, point = false;
  whole = true;
  for (; i < text.size(); ++i) {
    if (text[i] == '_' && any && i + 1 < text.size() && is_digit(text[i + 1])) continue;
    if (text[i] == '.' && !point) {
      point = true;
      whole = false;
    } else if (is_digit(text[i])) {
      any = true;
    } else {
      break;
    }
    digits += text[i];
  }
  if (!any) return false;
  if (i == text.size()) return true;
  if (text[i] != 'e' && text[i] != 'E') return false;
  whole = false;
  digits += text[i++];
  if (i < text.size() && (text[i] == '-' || text[i] == '+')) digits += text[i++];
  const std::size_t first = i;
  while (i < text.size() && is_digit(text[i])) digits += text[i++];
  return i == text.size() && i > first;
}

Value number(const std::string& digits, bool whole) {
  Value value;
  const char* end = digits.data() + digits.size();
  value.text = digits;
  if (whole && std::from_chars(digits.data(), end, value.integer).ec == std::errc()) {
    value.kind = Value::Kind::integer;
    value.real = static_cast<double>(value.integer);
    return value;
  }
  value.integer = 0;
  value.kind = Value::Kind::real;
  value.real = std::strtod(digits.c_str(), nullptr);  // unlike from_chars, it tells too large from too small
  return value;
}

// What a scalar without quotes means.
Value plain(const std::string& text) {
  Value value;
  value.text = text;
  value.kind = Value::Kind::text;
  if (text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL") {
    value.kind = Value::Kind::null;
  } else if (text == "true" || text == "True" || text == "TRUE") {
    value.kind = Value::Kind::boolean;
    value.boolean = true;
  } else if (text == "false" || text == "False" || text == "FALSE") {
    value.kind = Value::Kind::boolean;
  } else if (text == ".inf" || text == "-.inf" || text == ".nan") {
    value.kind = Value::Kind::real;
    const double infinity = std::numeric_limits<double>::infinity();
    value.real = text == ".nan" ? std::nan("") : text == ".inf" ? infinity : -infinity;
  } else {
    std::string digits;
    bool whole = false;
    if (is_number(text, digits, whole)) return number(digits, whole);
  }
  return value;
}

class Handler : public YAML::EventHandler {
 public:
  Handler(std::string_view text, const std::string& file) : text_(text), file_(file), tree_(file) {}

  Value take() { return tree_.take(); }
  bool empty() const { return !any_; }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}

  // Nothing was written, so the parser is at the next token already: the key's place is the better one.
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    add(plain({}), tree_.after_key() ? key_mark_ : mark, anchor);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override { refuse(mark, "an alias (*name)"); }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& text) override {
    if (tag == "?") {
      add(plain(text), mark, anchor);
    } else if (tag == "!") {
      check_closed(mark);
      Value value;
      value.kind = Value::Kind::text;
      value.text = text;
      add(std::move(value), mark, anchor);
    } else {
      refuse(mark, "a tag (!name)");
    }
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    before_collection(mark, tag, anchor);
    tree_.start_list(line(mark), column(mark));
  }
  void OnSequenceEnd() override { tree_.end_list(); }

  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    before_collection(mark, tag, anchor);
    tree_.start_map(line(mark), column(mark));
  }
  void OnMapEnd() override { tree_.end_map(); }

 private:
  static int line(const YAML::Mark& mark) { return mark.line + 1; }
  static int column(const YAML::Mark& mark) { return mark.column + 1; }

  [[noreturn]] void refuse(const YAML::Mark& mark, const std::string& what) {
    syntax_error(file_, line(mark), column(mark), what + " is not accepted in a profile", "write the value out");
  }

  // yaml-cpp takes the end of the file for the end of a quoted scalar; a file cut there must not pass.
  void check_closed(const YAML::Mark& mark) {
    const std::size_t start = static_cast<std::size_t>(std::max(mark.pos, 0));
    const char quote = start < text_.size() ? text_[start] : '\0';
    if (quote != '"' && quote != '\'') return;  // a block scalar
    for (std::size_t i = start + 1; i < text_.size(); ++i) {
      if (quote == '"' && text_[i] == '\\') {
        ++i;
      } else if (text_[i] == quote) {
        if (quote == '"' || i + 1 >= text_.size() || text_[i + 1] != quote) return;
        ++i;  // '' stands for one '
      }
    }
    syntax_error(file_, line(mark), column(mark), "the quote is never closed");
  }

  void before_collection(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
    any_ = true;
    if (anchor != 0) refuse(mark, "an anchor (&name)");
    if (tag != "?" && !tag.empty()) refuse(mark, "a tag (!name)");
    if (tree_.at_key()) syntax_error(file_, line(mark), column(mark), "a key must be plain text");
  }

  void add(Value value, const YAML::Mark& mark, YAML::anchor_t anchor) {
    any_ = true;
    if (anchor != 0) refuse(mark, "an anchor (&name)");
    if (!tree_.at_key()) {
      tree_.scalar(std::move(value), line(mark), column(mark));
    } else if (value.text.empty()) {
      syntax_error(file_, line(mark), column(mark), "a key is missing");
    } else {
      tree_.key(value.text, line(mark), column(mark));
      key_mark_ = mark;
    }
  }

  std::string_view text_;
  std::string file_;
  Tree tree_;
  YAML::Mark key_mark_ = YAML::Mark::null_mark();
  bool any_ = false;
};

// Parsers disagree about tabs before a key, and editors show them as spaces.
void refuse_tabs(std::string_view text, const std::string& file) {
  int line = 1;
  for (std::size_t start = 0; start < text.size(); ++line) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    const std::size_t content = std::min(text.find_first_not_of(" \t\r", start), end);
    const std::size_t tab = text.find('\t', start);
    if (tab < content && content < end && text[content] != '#') {
      syntax_error(file, line, static_cast<int>(tab - start) + 1, "a tab in the indentation", "indent with spaces");
    }
    start = end + 1;
  }
}

}  // namespace

Value read_yaml(std::string_view text, const std::string& file) {
  check_text(text, file, largest_yaml);
  refuse_tabs(text, file);
  const std::string_view byte_order_mark = "\xEF\xBB\xBF";
  if (text.substr(0, byte_order_mark.size()) == byte_order_mark) text.remove_prefix(byte_order_mark.size());
  Handler handler(text, file);
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    if (!parser.HandleNextDocument(handler) || handler.empty()) syntax_error(file, 0, 0, "the file holds no values");
    Handler second(text, file);
    if (parser.HandleNextDocument(second)) syntax_error(file, 0, 0, "holds more than one document (---)");
  } catch (const YAML::ParserException& problem) {
    syntax_error(file, problem.mark.line + 1, problem.mark.column + 1, "is not valid YAML: " + problem.msg);
  }
  return handler.take();
}

}  // namespace llmcalc
