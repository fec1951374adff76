// Text to steps: the part of Python's grammar that chains of tensor methods need.
#include <algorithm>
#include <array>

#include "core/quantity.hpp"
#include "core/tensor_expression/expression.hpp"
#include "core/tensor_expression/scanner.hpp"

namespace llmcalc::expression {
namespace {

constexpr std::size_t longest_text = 10'000;  // of one expression, in characters
constexpr int deepest_list = 8;

constexpr const char* values_unknown = "only shapes are known here, no values: what depends on values has no answer";

bool is_attribute(std::string_view name) {
  constexpr std::array<std::string_view, 4> attributes{"T", "mT", "H", "mH"};
  return std::find(attributes.begin(), attributes.end(), name) != attributes.end();
}

class Parser {
 public:
  explicit Parser(std::string_view text) : scan_(text) {}

  Chain chain() {
    Chain steps;
    if (scan_.starts_with("torch.")) {
      steps.push_back(function());
    } else if (scan_.peek() != '.' && scan_.peek() != '[') {
      const std::string first(scan_.word());
      if (first.empty()) scan_.fail("expected x or an operation such as view(2, -1)");
      if (scan_.peek() == '(' || is_attribute(first) || (first != "x" && scan_.at_end())) {
        steps.push_back(method(first));
      }
    }
    while (!scan_.at_end()) {
      if (scan_.take("[")) {
        steps.push_back(index());
      } else if (scan_.take(".")) {
        const std::string name(scan_.word());
        if (name.empty()) scan_.fail("expected the name of an operation behind the point");
        steps.push_back(method(name));
      } else {
        scan_.fail("expected .operation(...) or [index]", scan_.peek() == ',' ? "" : values_hint());
      }
    }
    return steps;
  }

 private:
  // Comparisons and arithmetic are the usual other thing here.
  std::string values_hint() {
    constexpr std::string_view operators = "<>=!+-*/&|~%@";
    return operators.find(scan_.peek()) == std::string_view::npos ? "" : values_unknown;
  }

  Step method(const std::string& name) {
    Step step;
    step.name = name;
    step.kind = scan_.take("(") ? Step::Kind::call : Step::Kind::attribute;
    if (step.kind == Step::Kind::call) step.arguments = arguments();
    return step;
  }

  // torch.name(x, ...)
  Step function() {
    scan_.expect("torch.", "here");
    Step step = method(std::string(scan_.word()));
    const bool of_x = !step.arguments.empty() && step.arguments.front().name.empty() &&
                      step.arguments.front().value.kind == Value::Kind::word &&
                      step.arguments.front().value.word == "x";
    if (!of_x) scan_.fail("a function of torch takes x first: torch.transpose(x, 0, 1)");
    step.arguments.erase(step.arguments.begin());
    return step;
  }

  std::vector<Argument> arguments() {
    std::vector<Argument> all;
    while (!scan_.take(")")) {
      Argument argument;
      const bool in_quotation = scan_.peek() == '\'' || scan_.peek() == '"';
      argument.value = value(0);
      if (!in_quotation && argument.value.kind == Value::Kind::word && scan_.take("=")) {
        argument.name = argument.value.word;
        argument.value = value(0);
      }
      all.push_back(std::move(argument));
      if (!scan_.take(",") && scan_.peek() != ')') scan_.fail("expected a comma or the closing bracket", values_hint());
    }
    return all;
  }

  Value value(int depth) {
    Value v;
    if (const std::optional<Count> number = scan_.integer()) {
      v.kind = Value::Kind::integer;
      v.integer = *number;
      if (scan_.peek() == '.') scan_.fail("expected a whole number");
      return v;
    }
    for (const auto& [open, close] : {std::pair{"(", ")"}, std::pair{"[", "]"}}) {
      if (!scan_.take(open)) continue;
      if (depth == deepest_list) scan_.fail("lists are nested too deeply");
      v.kind = Value::Kind::list;
      while (!scan_.take(close)) {
        v.list.push_back(value(depth + 1));
        if (!scan_.take(",") && !scan_.starts_with(close)) scan_.fail("expected a comma or the closing bracket");
      }
      return v;
    }
    for (const char* quote : {"'", "\""}) {
      if (!scan_.take(quote)) continue;
      const std::string_view rest = scan_.rest();
      const std::size_t end = rest.find(quote);
      if (end == std::string_view::npos) scan_.fail("the quotes are not closed");
      const std::string_view inside = rest.substr(0, end);
      if (inside.find('\'') != std::string_view::npos) scan_.fail("quotes inside quotes");
      scan_.skip(end + 1);
      return named(std::string(inside));
    }
    const bool of_torch = scan_.take("torch.");
    const std::string word(scan_.word());
    if (word.empty()) scan_.fail("expected a number, a list of numbers or the name of a number format");
    Value result = named(word);
    if (of_torch && result.kind != Value::Kind::dtype)
      scan_.fail("torch." + word + " is no number format that a tensor can have here");
    return result;
  }

  static Value named(const std::string& word) {
    Value v;
    if (word == "True" || word == "False") {
      v.kind = Value::Kind::boolean;
      v.integer = word == "True";
    } else if (word == "None") {
      v.kind = Value::Kind::none;
    } else if (const std::optional<DType> dtype = dtype_named(word)) {
      v.kind = Value::Kind::dtype;
      v.dtype = *dtype;
    } else {
      v.kind = Value::Kind::word;
      v.word = word;
    }
    return v;
  }

  Step index() {
    Step step;
    step.kind = Step::Kind::index;
    if (scan_.peek() == ']') scan_.fail("expected an index");
    while (!scan_.take("]")) {
      step.index.push_back(item());
      if (!scan_.take(",") && scan_.peek() != ']')
        scan_.fail("expected a comma or the closing bracket of the index", values_hint());
    }
    return step;
  }

  IndexItem item() {
    IndexItem item;
    if (scan_.take("...")) {
      item.kind = IndexItem::Kind::ellipsis;
    } else if (scan_.take("[")) {
      item.kind = IndexItem::Kind::list;
      while (!scan_.take("]")) {
        const std::optional<Count> number = scan_.integer();
        if (!number) scan_.fail("expected whole numbers in the list", "a list of True and False depends on values");
        item.list.push_back(*number);
        if (!scan_.take(",") && scan_.peek() != ']') scan_.fail("expected a comma or the closing bracket of the list");
      }
    } else {
      item.start = scan_.integer();
      if (scan_.take(":")) {
        item.kind = IndexItem::Kind::slice;
        item.stop = scan_.integer();
        if (scan_.take(":")) item.step = scan_.integer();
      } else if (item.start) {
        item.integer = *item.start;
        item.start.reset();
      } else {
        const std::string word(scan_.word());
        if (word == "None" || word == "newaxis") {
          item.kind = IndexItem::Kind::new_axis;
        } else if (word == "Ellipsis") {
          item.kind = IndexItem::Kind::ellipsis;
        } else if (word.empty()) {
          scan_.fail("expected a number, start:stop:step, None, ... or a list of numbers");
        } else {
          scan_.fail("an index can be a number, start:stop:step, None, ... or a list of numbers; " + in_quotes(word) +
                         " is none",
                     values_unknown);
        }
      }
    }
    return item;
  }

  Scanner scan_;
};

}  // namespace

Chain parse(std::string_view text) {
  if (text.size() > longest_text)
    throw Error(Exit::bad_input,
                "an expression has at most 10,000 characters; this one has " + std::to_string(text.size()));
  return Parser(text).chain();
}

Dims parse_shape(std::string_view text) {
  const auto trimmed = [](std::string_view piece) {
    while (!piece.empty() && piece.front() == ' ') piece.remove_prefix(1);
    while (!piece.empty() && piece.back() == ' ') piece.remove_suffix(1);
    return piece;
  };
  constexpr const char* form = "a shape is written 2,3,4 or (2,3,4), a scalar ()";
  std::string_view inside = trimmed(text);
  const bool open = !inside.empty() && (inside.front() == '(' || inside.front() == '[');
  if (open) {
    const char close = inside.front() == '(' ? ')' : ']';
    if (inside.back() != close || inside.size() < 2)
      throw Error(Exit::bad_input, "shape " + in_quotes(text) + ": the bracket is not closed", form);
    inside = trimmed(inside.substr(1, inside.size() - 2));
  } else if (inside.empty()) {
    throw Error(Exit::bad_input, "the shape is empty", form);
  }
  if (inside.size() > 1 && inside.back() == ',') inside.remove_suffix(1);  // (4,)
  Dims shape;
  Count product = 1;
  bool empty = inside.empty();
  while (!empty) {
    const std::size_t comma = inside.find(',');
    const std::string_view piece = trimmed(inside.substr(0, comma));
    const Parsed<Count> length = parse_count(piece);
    if (!length) throw Error(Exit::bad_input, "shape " + in_quotes(text) + ": " + length.message, form);
    if (shape.rank() == Dims::max_rank)
      throw Error(Exit::bad_input, "shape " + in_quotes(text) + " has more than " + std::to_string(Dims::max_rank) +
                                       " axes, the most that are handled here");
    shape.push_back(*length);
    if (__builtin_mul_overflow(product, std::max<Count>(*length, 1), &product) || product > max_elements)
      throw Error(Exit::bad_input, "shape " + in_quotes(text) + " has more than 2^62 elements");
    empty = comma == std::string_view::npos;
    if (!empty) inside.remove_prefix(comma + 1);
  }
  return shape;
}

}  // namespace llmcalc::expression
