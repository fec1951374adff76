#include "core/einsum/equation.hpp"

#include <algorithm>

#include "core/diagnostics.hpp"
#include "core/suggest.hpp"
#include "core/tensor_expression/expression.hpp"

namespace llmcalc::einsum {
namespace {

constexpr std::size_t longest_text = 1000;  // characters
constexpr std::size_t most_operands = 32;
constexpr char ellipsis = '.';

[[noreturn]] void fail(const std::string& message, std::string hint = {}) {
  throw Error(Exit::bad_input, message, std::move(hint));
}

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// One operand, without spaces and with '.' for "...".
std::string parse_term(std::string_view text, std::string_view whole) {
  std::string term;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == ' ') continue;
    if (text.substr(i, 3) == "...") {
      if (term.find(ellipsis) != std::string::npos) fail(in_quotes(whole) + ": two ellipses in " + in_quotes(text));
      term += ellipsis;
      i += 2;
    } else if (is_letter(text[i])) {
      term += text[i];
    } else {
      fail(in_quotes(whole) + ": " + in_quotes(text.substr(i, 1)) + " is no letter",
           "axes are single letters, as in \"bij,bjk->bik\"; rearrange takes longer names");
    }
  }
  return term;
}

std::string axis_of(std::size_t operand, int axis) {
  return "axis " + std::to_string(axis) + " of operand " + std::to_string(operand + 1);
}

class Binder {
 public:
  Binder(const Equation& equation, const std::vector<Dims>& shapes) : equation_(equation), shapes_(shapes) {}

  Problem bind() {
    if (equation_.operands.size() != shapes_.size())
      fail(in_quotes(to_string(equation_)) + " has " + std::to_string(equation_.operands.size()) +
           (equation_.operands.size() == 1 ? " operand" : " operands") + ", but " + std::to_string(shapes_.size()) +
           (shapes_.size() == 1 ? " shape is given" : " shapes are given"));
    find_ellipsis_length();
    for (int i = 0; i < ellipsis_axes_; ++i) axis_named("..." + std::to_string(i));
    for (const std::string& term : equation_.operands)
      for (const char c : term)
        if (c != ellipsis) axis_named(std::string(1, c));
    for (std::size_t i = 0; i < shapes_.size(); ++i) read_lengths(i);
    for (std::size_t i = 0; i < shapes_.size(); ++i) set_operand(i);
    set_output();
    for (const Dims& shape : shapes_) problem_.elements_in += elements(shape);
    return std::move(problem_);
  }

 private:
  void find_ellipsis_length() {
    for (std::size_t i = 0; i < shapes_.size(); ++i) {
      const std::string& term = equation_.operands[i];
      const bool open = term.find(ellipsis) != std::string::npos;
      const int letters = static_cast<int>(term.size()) - open;
      const int rank = shapes_[i].rank();
      if (open ? rank < letters : rank != letters)
        fail("operand " + std::to_string(i + 1) + " of shape " + llmcalc::to_string(shapes_[i]) + " has " +
             std::to_string(rank) + (rank == 1 ? " axis" : " axes") + ", but " + in_quotes(written(term)) + " names " +
             std::to_string(letters));
      if (open) ellipsis_axes_ = std::max(ellipsis_axes_, rank - letters);
    }
  }

  static std::string written(const std::string& term) {
    std::string text;
    for (const char c : term) text += c == ellipsis ? "..." : std::string(1, c);
    return text;
  }

  int axis_named(const std::string& name) {
    const auto found = std::find(problem_.names.begin(), problem_.names.end(), name);
    if (found != problem_.names.end()) return static_cast<int>(found - problem_.names.begin());
    problem_.names.push_back(name);
    problem_.lengths.push_back(1);
    first_.emplace_back();
    return static_cast<int>(problem_.names.size()) - 1;
  }

  // The axis of the equation that each axis of an operand is.
  std::vector<int> axes_of(std::size_t operand) {
    const std::string& term = equation_.operands[operand];
    const int open = shapes_[operand].rank() - (static_cast<int>(term.size()) - 1);
    std::vector<int> axes;
    for (const char c : term) {
      if (c != ellipsis) {
        axes.push_back(axis_named(std::string(1, c)));
        continue;
      }
      for (int i = 0; i < open; ++i) axes.push_back(ellipsis_axes_ - open + i);  // aligned at the right
    }
    return axes;
  }

  void read_lengths(std::size_t operand) {
    const std::vector<int> axes = axes_of(operand);
    for (int i = 0; i < shapes_[operand].rank(); ++i) {
      const auto axis = static_cast<std::size_t>(axes[static_cast<std::size_t>(i)]);
      const Count length = shapes_[operand][i];
      for (int j = 0; j < i; ++j) {
        if (axes[static_cast<std::size_t>(j)] == axes[static_cast<std::size_t>(i)] && shapes_[operand][j] != length)
          fail("axis " + problem_.names[axis] + " stands twice in operand " + std::to_string(operand + 1) +
               ", with length " + std::to_string(shapes_[operand][j]) + " and with length " + std::to_string(length));
      }
      Count& known = problem_.lengths[axis];
      if (length == known || length == 1) {
        if (first_[axis].empty()) first_[axis] = axis_of(operand, i);
        continue;
      }
      if (known != 1)
        fail("axis " + problem_.names[axis] + " has length " + std::to_string(known) + " (" + first_[axis] +
                 ") and length " + std::to_string(length) + " (" + axis_of(operand, i) + ")",
             "only an axis of length 1 is broadcast");
      known = length;
      first_[axis] = axis_of(operand, i);
    }
  }

  void set_operand(std::size_t operand) {
    AxisSet set = 0;
    const std::vector<int> axes = axes_of(operand);
    for (int i = 0; i < shapes_[operand].rank(); ++i) {
      const auto axis = static_cast<std::size_t>(axes[static_cast<std::size_t>(i)]);
      if (shapes_[operand][i] == problem_.lengths[axis]) set |= AxisSet{1} << axis;
    }
    problem_.operands.push_back(set);
  }

  void set_output() {
    if (equation_.output) {
      for (const char c : *equation_.output) {
        if (c != ellipsis) {
          problem_.output_axes.push_back(axis_named(std::string(1, c)));
          continue;
        }
        for (int i = 0; i < ellipsis_axes_; ++i) problem_.output_axes.push_back(i);
      }
    } else {
      for (int i = 0; i < ellipsis_axes_; ++i) problem_.output_axes.push_back(i);
      std::string all;
      for (const std::string& term : equation_.operands) all += term;
      std::sort(all.begin(), all.end());
      for (const char c : all)
        if (c != ellipsis && std::count(all.begin(), all.end(), c) == 1)
          problem_.output_axes.push_back(axis_named(std::string(1, c)));
    }
    Int128 count = 1;
    for (const int axis : problem_.output_axes) {
      if (problem_.shape.rank() == Dims::max_rank)
        fail("the result has more than " + std::to_string(Dims::max_rank) + " axes, the most that are handled here");
      problem_.output |= AxisSet{1} << axis;
      problem_.shape.push_back(problem_.lengths[static_cast<std::size_t>(axis)]);
      count = checked::multiply<Int128>(count, std::max<Count>(problem_.shape.back(), 1));
      if (count > expression::max_elements) fail("the result has more than 2^62 elements");
    }
  }

  const Equation& equation_;
  const std::vector<Dims>& shapes_;
  Problem problem_;
  std::vector<std::string> first_;  // where each axis got its length
  int ellipsis_axes_ = 0;
};

}  // namespace

bool operator==(const Equation& a, const Equation& b) { return a.operands == b.operands && a.output == b.output; }

Equation parse_equation(std::string_view text) {
  if (text.size() > longest_text) fail("an equation has at most 1000 characters");
  Equation equation;
  const std::size_t arrow = text.find("->");
  std::string_view inputs = text.substr(0, arrow);
  if (arrow != std::string_view::npos) equation.output = parse_term(text.substr(arrow + 2), text);
  for (;;) {
    const std::size_t comma = inputs.find(',');
    equation.operands.push_back(parse_term(inputs.substr(0, comma), text));
    if (comma == std::string_view::npos) break;
    inputs.remove_prefix(comma + 1);
  }
  if (equation.operands.size() > most_operands) fail("an equation has at most 32 operands");
  if (!equation.output) return equation;
  for (std::size_t i = 0; i < equation.output->size(); ++i) {
    const char c = (*equation.output)[i];
    if (c == ellipsis) continue;
    const bool known = std::any_of(equation.operands.begin(), equation.operands.end(),
                                   [&](const std::string& term) { return term.find(c) != std::string::npos; });
    if (!known) fail(in_quotes(text) + ": axis " + c + " of the output is in no operand");
    if (equation.output->find(c) != i) fail(in_quotes(text) + ": axis " + c + " stands twice in the output");
  }
  return equation;
}

std::string to_string(const Equation& equation) {
  std::string text;
  const auto write = [&](const std::string& term) {
    for (const char c : term) text += c == ellipsis ? "..." : std::string(1, c);
  };
  for (std::size_t i = 0; i < equation.operands.size(); ++i) {
    if (i > 0) text += ',';
    write(equation.operands[i]);
  }
  if (equation.output) {
    text += "->";
    write(*equation.output);
  }
  return text;
}

Int128 Problem::size(AxisSet axes) const {
  Int128 product = 1;
  for (std::size_t axis = 0; axis < lengths.size(); ++axis)
    if ((axes >> axis & 1U) != 0) product = checked::multiply<Int128>(product, lengths[axis]);
  return product;
}

std::string Problem::letters(AxisSet axes) const {
  std::string text;
  bool open = false;
  for (std::size_t axis = 0; axis < names.size(); ++axis) {
    if ((axes >> axis & 1U) == 0) continue;
    if (names[axis].size() == 1) {
      text += names[axis];
    } else if (!open) {
      text += "...";
      open = true;
    }
  }
  return text;
}

Problem bind(const Equation& equation, const std::vector<Dims>& shapes) { return Binder(equation, shapes).bind(); }

}  // namespace llmcalc::einsum
