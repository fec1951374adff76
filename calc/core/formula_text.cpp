// Printing expressions: the symbolic form, the form with the values put in, and single values with their unit.
#include <array>
#include <cmath>

#include "core/formula.hpp"

namespace llmcalc::formula {
namespace {

// How tightly an operation binds; an operand that binds less gets parentheses.
enum Binding { loose = 1, sum_like = 2, product_like = 3, tight = 4 };

struct Printed {
  std::string text;
  int binding;
};

std::string in_parentheses_below(const Printed& printed, int binding) {
  return printed.binding < binding ? "(" + printed.text + ")" : printed.text;
}

std::string superscript(int exponent) {
  constexpr std::array digits{"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
  std::string text = exponent < 0 ? "⁻" : "";
  for (char digit : std::to_string(std::abs(exponent))) text += digits[static_cast<std::size_t>(digit - '0')];
  return text;
}

class Printer {
 public:
  explicit Printer(bool with_values) : with_values_(with_values) {}

  Printed print(const Node& node) const {
    switch (node.op) {
      case Op::constant: return constant(node);
      case Op::symbol: return symbol(node);
      case Op::add: return {operand(node, 0, sum_like) + " + " + operand(node, 1, sum_like), sum_like};
      case Op::subtract: return subtract(node);
      case Op::multiply: return multiply(node);
      case Op::divide: return divide(node);
      case Op::power: return power(node);
      case Op::root: return {"√(" + operand(node, 0, loose) + ")", tight};
      case Op::log: return {"ln(" + operand(node, 0, loose) + ")", tight};
      case Op::exp: return {"exp(" + operand(node, 0, loose) + ")", tight};
      case Op::floor: return {"⌊" + operand(node, 0, loose) + "⌋", tight};
      case Op::ceil: return {"⌈" + operand(node, 0, loose) + "⌉", tight};
      case Op::max: return {"max(" + operand(node, 0, loose) + ", " + operand(node, 1, loose) + ")", tight};
      case Op::min: return {"min(" + operand(node, 0, loose) + ", " + operand(node, 1, loose) + ")", tight};
      case Op::sum: return sum(node);
      case Op::where: return branch(node);
    }
    return {"?", tight};
  }

 private:
  std::string operand(const Node& node, std::size_t child, int binding) const {
    return in_parentheses_below(print(*node.children[child]), binding);
  }

  static Printed constant(const Node& node) {
    const Number value = node.value.value_or(Number(0));
    return {to_text(value), value < Number(0) ? sum_like : tight};
  }

  Printed symbol(const Node& node) const {
    if (!with_values_) return {node.name, tight};
    const bool negative = node.value && *node.value < Number(0);
    return {node.shown, negative ? sum_like : tight};
  }

  // A value with its unit needs parentheses: (8 tokens)².
  Printed power(const Node& node) const {
    std::string base = operand(node, 0, tight);
    if (node.children[0]->op == Op::symbol && base.find(' ') != std::string::npos) base = "(" + base + ")";
    return {base + superscript(node.exponent), tight};
  }

  // 0 − x stands as −x.
  Printed subtract(const Node& node) const {
    const Node& left = *node.children[0];
    const bool negation = left.op == Op::constant && left.value == Number(0);
    return {(negation ? "−" : operand(node, 0, sum_like) + " − ") + operand(node, 1, product_like), sum_like};
  }

  // (a / b) · c keeps its parentheses: a / b · c could be misread. A factor 1, there for its unit, is not shown.
  Printed multiply(const Node& node) const {
    const Node& first = *node.children[0];
    if (first.op == Op::constant && first.value == Number(1)) return print(*node.children[1]);
    const int left = first.op == Op::divide ? tight : product_like;
    return {operand(node, 0, left) + " · " + operand(node, 1, product_like), product_like};
  }

  // a / (b · c): the divisor gets parentheses unless it is a single thing; (a / b) / c stands as a / (b · c).
  Printed divide(const Node& node) const {
    const Node& top = *node.children[0];
    if (top.op == Op::divide) {
      return {operand(top, 0, product_like) + " / (" + operand(top, 1, product_like) + " · " +
                  operand(node, 1, product_like) + ")",
              product_like};
    }
    return {operand(node, 0, product_like) + " / " + operand(node, 1, tight), product_like};
  }

  Printed sum(const Node& node) const {
    const std::size_t terms = node.children.size() - 2;
    if (!with_values_ || terms == 0) {
      return {"Σ_{" + node.name + "=1.." + operand(node, 0, loose) + "} " + operand(node, 1, product_like), sum_like};
    }
    const auto term = [&](std::size_t i) { return operand(node, 2 + i, sum_like); };
    bool alike = true;
    for (std::size_t i = 1; i < terms && alike; ++i) alike = term(i) == term(0);
    if (alike && terms > 1) {
      return {std::to_string(terms) + " · " + operand(node, 2, product_like), product_like};
    }
    constexpr std::size_t shown_in_full = 4;
    std::string text = term(0);
    if (terms <= shown_in_full) {
      for (std::size_t i = 1; i < terms; ++i) text += " + " + term(i);
    } else {
      text += " + " + term(1) + " + … + " + term(terms - 1) + " [" + std::to_string(terms) + " terms]";
    }
    return {text, terms == 1 ? static_cast<int>(print(*node.children[2]).binding) : sum_like};
  }

  Printed branch(const Node& node) const {
    const std::string condition = operand(node, 0, sum_like) + " ≤ " + operand(node, 1, sum_like);
    const auto& left = node.children[0]->value;
    const auto& right = node.children[1]->value;
    if (!with_values_ || !left || !right) {
      return {"(" + operand(node, 2, loose) + " if " + condition + ", else " + operand(node, 3, loose) + ")", tight};
    }
    const bool first = *left <= *right;
    const std::string reason = first ? condition : operand(node, 0, sum_like) + " > " + operand(node, 1, sum_like);
    return {"(" + operand(node, first ? 2 : 3, loose) + ", as " + reason + ")", tight};
  }

  bool with_values_;
};

struct Scale {
  double size;
  const char* name;
};

// The value in the largest of the scales that keeps it at or above 1.
std::string scaled(const Number& value, const Scale* scales, std::size_t count, const std::string& unit) {
  const double size = std::fabs(value.as_double());
  for (std::size_t i = 0; i < count; ++i) {
    if (size < scales[i].size && i + 1 < count) continue;
    return to_text(value / Number(scales[i].size)) + " " + scales[i].name + unit;
  }
  return to_text(value) + " " + unit;
}

constexpr Scale decimal_scales[] = {{1e18, "E"}, {1e15, "P"}, {1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}, {1, ""}};

std::string decimal(const Number& value, const std::string& unit) {
  return scaled(value, decimal_scales, std::size(decimal_scales), unit);
}

// Sizes: the binary unit where it is whole (64 MiB), else decimal.
std::string size_text(const Number& bytes) {
  constexpr struct {
    Count size;
    const char* name;
  } binary[] = {{Count{1} << 40, " TiB"}, {Count{1} << 30, " GiB"}, {Count{1} << 20, " MiB"}, {Count{1} << 10, " KiB"}};
  for (const auto& unit : binary) {
    const Number quotient = bytes / Number(unit.size);
    if (quotient >= Number(1) && quotient.is_integer() && quotient < Number(100000))
      return to_text(quotient) + unit.name;
  }
  constexpr double small = 1e5;  // below this all digits are shown
  if (bytes.is_integer() && std::fabs(bytes.as_double()) < small) return to_text(bytes) + " B";
  return decimal(bytes, "B");
}

}  // namespace

std::string symbolic(const Traced& expression) { return Printer(false).print(*expression.node()).text; }

std::string substituted(const Traced& expression) { return Printer(true).print(*expression.node()).text; }

std::string text(const Number& value, Dimension dimension) {
  if (dimension.is_none()) return to_text(value);
  if (dimension == dim::byte) return size_text(value);
  if (dimension == dim::flops_per_second) return decimal(value, "FLOP/s");
  if (dimension == dim::bytes_per_second) return decimal(value, "B/s");
  if (dimension == dim::dollar) return "$" + to_text(value);
  if (dimension == dim::dollar / dim::second) {
    constexpr Count seconds_per_hour = 3600;
    return "$" + to_text(value * Number(seconds_per_hour)) + "/h";
  }
  if (dimension == dim::token) return to_text(value) + (value == Number(1) ? " token" : " tokens");
  if (dimension == dim::parameter) return to_text(value) + (value == Number(1) ? " parameter" : " parameters");
  return to_text(value) + " " + to_string(dimension);
}

}  // namespace llmcalc::formula
