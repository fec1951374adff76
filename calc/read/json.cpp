// nlohmann's SAX events to a tree. That interface gives no positions, so the text is handed over through an iterator
// whose steps can be seen.
#include "read/json.hpp"

#include <cstddef>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>

#include "read/text.hpp"
#include "read/tree.hpp"

namespace llmcalc {
namespace {

constexpr std::size_t largest_json = 16 * 1024 * 1024;  // bytes
constexpr std::size_t longest_message = 200;

// Goes over the text and leaves in `*reached` how far the parser has read.
class Watched {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  Watched(const char* at, const char** reached) : at_(at), reached_(reached) {}
  reference operator*() const { return *at_; }
  Watched& operator++() {
    *reached_ = ++at_;
    return *this;
  }
  Watched operator++(int) {
    Watched before = *this;
    ++*this;
    return before;
  }
  friend bool operator==(const Watched& a, const Watched& b) { return a.at_ == b.at_; }

 private:
  const char* at_;
  const char** reached_;
};

// Where tokens start. Each event comes when its token has been read, so the token starts at the first character after
// the one before that is neither blank nor a separator. Lines are counted along the way, once.
class Cursor {
 public:
  Cursor(std::string_view text, const char** reached) : at_(text.data()), line_start_(at_), reached_(reached) {}

  void next() {
    for (; at_ < *reached_; ++at_) {
      if (*at_ == '\n') {
        ++line_;
        line_start_ = at_ + 1;
      } else if (*at_ != ' ' && *at_ != '\t' && *at_ != '\r' && *at_ != ',' && *at_ != ':') {
        break;
      }
    }
    column_ = static_cast<int>(at_ - line_start_) + 1;
    at_ = *reached_;
    // Tokens hold no line break, but the parser reads one character past a number.
    if (at_ > line_start_ && at_[-1] == '\n') --at_;
  }
  int line() const { return line_; }
  int column() const { return column_; }

 private:
  const char* at_;
  const char* line_start_;
  const char** reached_;
  int line_ = 1, column_ = 1;
};

// The library's text is "[json.exception...] parse error at line ..: REASON".
std::string reason_of(const nlohmann::detail::exception& problem) {
  std::string reason = problem.what();
  for (const char* before : {"] ", "syntax error "}) {
    const std::size_t found = reason.find(before);
    if (found != std::string::npos) reason.erase(0, found + std::string_view(before).size());
  }
  return reason.size() > longest_message ? reason.substr(0, longest_message) + "..." : reason;
}

class Handler {
 public:
  Handler(std::string_view text, const std::string& file, const char** reached)
      : text_(text), file_(file), tree_(file), cursor_(text, reached) {}

  Value take() { return tree_.take(); }

  bool null() { return scalar({}); }

  bool boolean(bool flag) {
    Value value;
    value.kind = Value::Kind::boolean;
    value.boolean = flag;
    value.text = flag ? "true" : "false";
    return scalar(std::move(value));
  }

  bool number_integer(long long integer) {
    Value value;
    value.kind = Value::Kind::integer;
    value.integer = integer;
    value.real = static_cast<double>(integer);
    value.text = std::to_string(integer);
    return scalar(std::move(value));
  }

  bool number_unsigned(unsigned long long integer) {
    if (integer <= static_cast<unsigned long long>(std::numeric_limits<long long>::max())) {
      return number_integer(static_cast<long long>(integer));
    }
    return number_float(static_cast<double>(integer), std::to_string(integer));
  }

  bool number_float(double real, const std::string& text) {
    Value value;
    value.kind = Value::Kind::real;
    value.real = real;
    value.text = text;
    return scalar(std::move(value));
  }

  bool string(std::string& text) {
    Value value;
    value.kind = Value::Kind::text;
    value.text = text;
    return scalar(std::move(value));
  }

  bool binary(const nlohmann::json::binary_t&) { return false; }  // not in text

  bool start_object(std::size_t) {
    cursor_.next();
    tree_.start_map(cursor_.line(), cursor_.column());
    return true;
  }
  bool key(const std::string& text) {
    cursor_.next();
    tree_.key(text, cursor_.line(), cursor_.column());
    return true;
  }
  bool end_object() {
    cursor_.next();
    tree_.end_map();
    return true;
  }
  bool start_array(std::size_t) {
    cursor_.next();
    tree_.start_list(cursor_.line(), cursor_.column());
    return true;
  }
  bool end_array() {
    cursor_.next();
    tree_.end_list();
    return true;
  }

  // `position` counts the characters read.
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception& problem) {
    const LineColumn at = line_column(text_, position == 0 ? 0 : position - 1);
    syntax_error(file_, at.line, at.column, "is not valid JSON: " + reason_of(problem));
  }

 private:
  bool scalar(Value value) {
    cursor_.next();
    tree_.scalar(std::move(value), cursor_.line(), cursor_.column());
    return true;
  }

  std::string_view text_;
  std::string file_;
  Tree tree_;
  Cursor cursor_;
};

// Hands the library's events on.
class Walker {
 public:
  Walker(const std::string& file, const std::string& what, JsonEvents& events)
      : file_(file), what_(what), events_(events) {}

  bool null() { return events_.other(), true; }
  bool boolean(bool) { return events_.other(), true; }
  bool number_integer(long long integer) {
    if (integer < 0) return events_.other(), true;
    return events_.whole(static_cast<std::uint64_t>(integer)), true;
  }
  bool number_unsigned(unsigned long long integer) { return events_.whole(integer), true; }
  bool number_float(double, const std::string&) { return events_.other(), true; }
  bool string(const std::string& text) { return events_.text(text), true; }
  bool binary(const nlohmann::json::binary_t&) { return false; }
  bool start_object(std::size_t) { return events_.start_map(), true; }
  bool key(const std::string& text) { return events_.key(text), true; }
  bool end_object() { return events_.end_map(), true; }
  bool start_array(std::size_t) { return events_.start_list(), true; }
  bool end_array() { return events_.end_list(), true; }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception& problem) {
    syntax_error(file_, 0, 0,
                 what_ + " is not valid JSON at its byte " + std::to_string(position) + ": " + reason_of(problem));
  }

 private:
  const std::string& file_;
  const std::string& what_;
  JsonEvents& events_;
};

}  // namespace

void walk_json(std::string_view text, const std::string& file, const std::string& what, JsonEvents& events) {
  Walker walker(file, what, events);
  nlohmann::json::sax_parse(text.data(), text.data() + text.size(), &walker);
}

Value read_json(std::string_view text, const std::string& file) {
  check_text(text, file, largest_json);
  const char* reached = text.data();
  Handler handler(text, file, &reached);
  const Watched first(reached, &reached), last(text.data() + text.size(), &reached);
  nlohmann::json::sax_parse(first, last, &handler);
  return handler.take();
}

}  // namespace llmcalc
