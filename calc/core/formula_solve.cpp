// Solving an expression for one symbol, by undoing one operation after the other on the way down to it.
#include "core/formula.hpp"

namespace llmcalc::formula {
namespace {

int count_in(const Node& node, std::string_view sign) {
  if (node.op == Op::symbol) return node.name == sign ? 1 : 0;
  int count = 0;
  for (std::size_t i = 0; i < node.children.size(); ++i) {
    const bool general_term = node.op == Op::sum && i == 1;
    // The general term of a sum is there to be read; it counts only where no terms stand beside it.
    if (general_term && node.children.size() > 2) continue;
    count += count_in(*node.children[i], sign);
  }
  return count;
}

// The same operation on other operands.
Traced rebuild(const Node& node, const std::vector<Traced>& operands) {
  switch (node.op) {
    case Op::constant:
    case Op::symbol: break;
    case Op::add: return operands[0] + operands[1];
    case Op::subtract: return operands[0] - operands[1];
    case Op::multiply: return operands[0] * operands[1];
    case Op::divide: return operands[0] / operands[1];
    case Op::power: return power_of(operands[0], node.exponent);
    case Op::root: return root_of(operands[0]);
    case Op::log: return log_of(operands[0]);
    case Op::exp: return exp_of(operands[0]);
    case Op::floor: return floor_of(operands[0]);
    case Op::ceil: return ceil_of(operands[0]);
    case Op::max: return max_of(operands[0], operands[1]);
    case Op::min: return min_of(operands[0], operands[1]);
    case Op::sum:
      return make_sum(node.name, operands[0], operands[1], std::vector<Traced>(operands.begin() + 2, operands.end()));
    case Op::where: return where(TracedCondition{operands[0], operands[1]}, operands[2], operands[3]);
  }
  throw FormulaError("a leaf has no operands");
}

// Divides, merging (a / b) / c into a / (b · c) so that the solved form reads like the formula.
Traced over(const Traced& a, const Traced& b) {
  if (a.node()->op != Op::divide) return a / b;
  return Traced(a.node()->children[0]) / (Traced(a.node()->children[1]) * b);
}

class Solver {
 public:
  Solver(const Traced& expression, std::string_view sign, const Traced& result)
      : whole_(expression), sign_(sign), result_(result) {}

  // The unknown, given that `node` = `target`.
  Traced undo(const NodePtr& node, const Traced& target) const {
    if (node->op == Op::symbol) return target;
    const std::size_t child = path(*node);
    const auto& children = node->children;
    switch (node->op) {
      case Op::constant:
      case Op::symbol: break;
      case Op::add: return undo(children[child], target - other(*node, child));
      case Op::subtract:
        return undo(children[child], child == 0 ? target + other(*node, child) : other(*node, child) - target);
      case Op::multiply: return undo(children[child], over(target, other(*node, child)));
      case Op::divide:
        return undo(children[child], child == 0 ? target * other(*node, child) : over(other(*node, child), target));
      case Op::root: return undo(children[0], power_of(target, 2));
      case Op::power:
        if (node->exponent == 2) return undo(children[0], root_of(target));  // the root that is not negative
        throw Unsolvable(sign_ + " stands in a power other than a square");
      case Op::log: return undo(children[0], exp_of(target));
      case Op::exp: return undo(children[0], log_of(target));
      case Op::floor:
      case Op::ceil: throw Unsolvable(sign_ + " stands under a rounding, so many values give the same result");
      case Op::sum: return undo_sum(*node, child, target);
      case Op::max:
      case Op::min: return undo_choice(*node, child, target);
      case Op::where: return undo_branch(*node, child, target);
    }
    throw FormulaError("a leaf has no operands");
  }

  // Whether the formula gives the result when the unknown is `candidate`.
  bool reproduces(const Traced& candidate) const {
    if (!candidate.has_value() || !result_.has_value()) return true;
    const Traced again = replace(whole_, sign_, candidate);
    if (!again.has_value()) return true;
    const double due = result_.value().as_double();
    constexpr double tolerance = 1e-9;  // rounding of roots and logarithms; exact ones differ by nothing
    return std::fabs(again.value().as_double() - due) <= tolerance * std::fabs(due);
  }

 private:
  // The child the unknown stands in.
  std::size_t path(const Node& node) const {
    const std::size_t first = node.op == Op::sum && node.children.size() > 2 ? 2 : 0;
    for (std::size_t i = first; i < node.children.size(); ++i) {
      if (count_in(*node.children[i], sign_) > 0) return i;
    }
    return 0;
  }

  static Traced other(const Node& node, std::size_t child) { return Traced(node.children[1 - child]); }

  Traced undo_sum(const Node& node, std::size_t child, const Traced& target) const {
    if (child < 2) throw Unsolvable(sign_ + " is the number of terms of a sum");
    Traced rest = target;
    for (std::size_t i = 2; i < node.children.size(); ++i) {
      if (i != child) rest = rest - Traced(node.children[i]);
    }
    return undo(node.children[child], rest);
  }

  // The operand with the unknown has to be the one that is chosen.
  Traced undo_choice(const Node& node, std::size_t child, const Traced& target) const {
    const Traced candidate = undo(node.children[child], target);
    const Traced rest = other(node, child);
    if (!candidate.has_value() || !rest.has_value()) return candidate;
    if (rest.value() == target.value()) {
      throw Unsolvable(symbolic(rest) + " alone gives this result; " + sign_ +
                       " is not determined, both sides are equal at " + text(candidate.value(), candidate.dimension()));
    }
    const bool chosen = node.op == Op::min ? target.value() < rest.value() : rest.value() < target.value();
    if (!chosen) {
      throw Unsolvable("no value of " + sign_ + " gives it: the result is never " +
                       (node.op == Op::min ? "above " : "below ") + symbolic(rest) + " = " +
                       text(rest.value(), rest.dimension()));
    }
    return candidate;
  }

  Traced undo_branch(const Node& node, std::size_t child, const Traced& target) const {
    if (child < 2) throw Unsolvable(sign_ + " decides a branch");
    const auto& left = node.children[0]->value;
    const auto& right = node.children[1]->value;
    const std::size_t taken = !left || !right || *left <= *right ? 2 : 3;
    if (left && right && child != taken) throw Unsolvable(sign_ + " stands in the branch that is not taken");
    return undo(node.children[child], target);
  }

  const Traced& whole_;
  std::string sign_;
  const Traced& result_;
};

}  // namespace

int occurrences(const Traced& expression, std::string_view sign) { return count_in(*expression.node(), sign); }

Traced replace(const Traced& expression, std::string_view sign, const Traced& replacement) {
  const Node& node = *expression.node();
  if (node.op == Op::symbol && node.name == sign) {
    if (replacement.dimension() != node.dimension) {
      throw FormulaError(node.name + " is in " + to_string(node.dimension) + ", not " +
                         to_string(replacement.dimension()));
    }
    return replacement;
  }
  if (node.children.empty()) return expression;
  std::vector<Traced> operands;
  operands.reserve(node.children.size());
  for (const NodePtr& child : node.children) operands.push_back(replace(Traced(child), sign, replacement));
  return rebuild(node, operands);
}

Traced solve(const Traced& expression, std::string_view sign, const Traced& result) {
  const std::string name(sign);
  if (expression.dimension() != result.dimension()) {
    throw FormulaError("the formula is in " + to_string(expression.dimension()) + ", the result in " +
                       to_string(result.dimension()));
  }
  const int times = occurrences(expression, sign);
  if (times == 0) throw Unsolvable(name + " does not stand in the formula");
  if (times > 1) throw Unsolvable(name + " stands " + std::to_string(times) + " times in the formula");
  const Solver solver(expression, sign, result);
  const Traced solved = solver.undo(expression.node(), result);
  if (!solver.reproduces(solved)) throw Unsolvable("no value of " + name + " gives this result");
  return solved;
}

}  // namespace llmcalc::formula
