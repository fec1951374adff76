// Building expressions: values and units are worked out as each node is made.
#include "core/formula.hpp"

namespace llmcalc {

using formula::Node;
using formula::NodePtr;
using formula::Op;

namespace {

std::string unit_name(Dimension dimension) { return dimension.is_none() ? "a plain number" : to_string(dimension); }

void require_same(const Traced& a, const Traced& b, const char* what) {
  if (a.dimension() == b.dimension()) return;
  throw FormulaError(std::string(what) + " of " + unit_name(a.dimension()) + " and " + unit_name(b.dimension()) + ": " +
                     formula::symbolic(a) + " and " + formula::symbolic(b));
}

void require_plain(const Traced& x, const char* what) {
  if (x.dimension().is_none()) return;
  throw FormulaError(std::string(what) + " of a value in " + to_string(x.dimension()) + ": " + formula::symbolic(x));
}

Traced make(Node node) { return Traced(std::make_shared<const Node>(std::move(node))); }

// A node on two operands; its value is there when both of theirs are.
template <class Compute>
Traced binary(Op op, const Traced& a, const Traced& b, Dimension dimension, Compute compute) {
  Node node;
  node.op = op;
  node.children = {a.node(), b.node()};
  node.dimension = dimension;
  if (a.has_value() && b.has_value()) node.value = compute(a.value(), b.value());
  return make(std::move(node));
}

template <class Compute>
Traced unary(Op op, const Traced& a, Dimension dimension, Compute compute, int exponent = 0) {
  Node node;
  node.op = op;
  node.children = {a.node()};
  node.dimension = dimension;
  node.exponent = exponent;
  if (a.has_value()) node.value = compute(a.value());
  return make(std::move(node));
}

}  // namespace

Traced::Traced(Count value) : Traced(constant(Number(value), dim::none)) {}

Traced Traced::constant(const Number& value, Dimension dimension) {
  Node node;
  node.op = Op::constant;
  node.value = value;
  node.dimension = dimension;
  return make(std::move(node));
}

Traced Traced::symbol(std::string sign, const Number& value, Dimension dimension, std::string shown) {
  Node node;
  node.op = Op::symbol;
  node.name = std::move(sign);
  node.shown = shown.empty() ? formula::text(value, dimension) : std::move(shown);
  node.value = value;
  node.dimension = dimension;
  return make(std::move(node));
}

Traced Traced::unknown(std::string sign, Dimension dimension) {
  Node node;
  node.op = Op::symbol;
  node.shown = sign;
  node.name = std::move(sign);
  node.dimension = dimension;
  return make(std::move(node));
}

const Number& Traced::value() const {
  const std::optional<Number>& value = node_->value;
  if (!value) throw FormulaError("no value yet: " + formula::symbolic(*this));
  return *value;
}

Traced operator+(const Traced& a, const Traced& b) {
  require_same(a, b, "a sum");
  return binary(Op::add, a, b, a.dimension(), [](const Number& x, const Number& y) { return x + y; });
}

Traced operator-(const Traced& a, const Traced& b) {
  require_same(a, b, "a difference");
  return binary(Op::subtract, a, b, a.dimension(), [](const Number& x, const Number& y) { return x - y; });
}

Traced operator*(const Traced& a, const Traced& b) {
  return binary(Op::multiply, a, b, a.dimension() * b.dimension(),
                [](const Number& x, const Number& y) { return x * y; });
}

Traced operator/(const Traced& a, const Traced& b) {
  return binary(Op::divide, a, b, a.dimension() / b.dimension(),
                [](const Number& x, const Number& y) { return x / y; });
}

Traced max_of(const Traced& a, const Traced& b) {
  require_same(a, b, "the larger");
  return binary(Op::max, a, b, a.dimension(), [](const Number& x, const Number& y) { return max_of<Number>(x, y); });
}

Traced min_of(const Traced& a, const Traced& b) {
  require_same(a, b, "the smaller");
  return binary(Op::min, a, b, a.dimension(), [](const Number& x, const Number& y) { return min_of<Number>(x, y); });
}

Traced power_of(const Traced& x, int exponent) {
  Dimension dimension;
  for (int i = 0; i < std::abs(exponent); ++i) {
    dimension = exponent > 0 ? dimension * x.dimension() : dimension / x.dimension();
  }
  return unary(Op::power, x, dimension, [exponent](const Number& value) { return power(value, exponent); }, exponent);
}

Traced root_of(const Traced& x) {
  Dimension half;
  for (std::size_t i = 0; i < Dimension::base_count; ++i) {
    const int exponent = x.dimension().exponents[i];
    if (exponent % 2 != 0) require_plain(x, "the square root");
    half.exponents[i] = static_cast<signed char>(exponent / 2);
  }
  return unary(Op::root, x, half, [](const Number& value) { return sqrt(value); });
}

Traced log_of(const Traced& x) {
  require_plain(x, "the logarithm");
  return unary(Op::log, x, dim::none, [](const Number& value) { return log(value); });
}

Traced exp_of(const Traced& x) {
  require_plain(x, "the exponential");
  return unary(Op::exp, x, dim::none, [](const Number& value) { return exp(value); });
}

Traced floor_of(const Traced& x) {
  return unary(Op::floor, x, x.dimension(), [](const Number& value) { return floor(value); });
}

Traced formula::ceil_of(const Traced& x) {
  return unary(Op::ceil, x, x.dimension(), [](const Number& value) { return ceil(value); });
}

Traced ceil_div(const Traced& a, const Traced& b) { return formula::ceil_of(a / b); }

Traced where(const TracedCondition& condition, const Traced& then_value, const Traced& else_value) {
  require_same(condition.left, condition.right, "a comparison");
  require_same(then_value, else_value, "the branches");
  Node node;
  node.op = Op::where;
  node.children = {condition.left.node(), condition.right.node(), then_value.node(), else_value.node()};
  node.dimension = then_value.dimension();
  if (condition.left.has_value() && condition.right.has_value()) {
    const Traced& taken = condition.left.value() <= condition.right.value() ? then_value : else_value;
    if (taken.has_value()) node.value = taken.value();
  }
  return make(std::move(node));
}

namespace formula {

Traced make_sum(std::string_view index, const Traced& count, const Traced& general_term,
                const std::vector<Traced>& terms) {
  require_plain(count, "the number of terms");
  Node node;
  node.op = Op::sum;
  node.name = std::string(index);
  node.dimension = general_term.dimension();
  node.children = {count.node(), general_term.node()};
  std::optional<Number> total = Number(0);
  for (const Traced& term : terms) {
    require_same(general_term, term, "the terms");
    node.children.push_back(term.node());
    if (total && term.has_value()) {
      total = *total + term.value();
    } else {
      total.reset();
    }
  }
  if (!terms.empty()) node.value = total;
  return make(std::move(node));
}

Count term_count(const Number& x) {
  if (!x.is_integer() || x < Number(1) || x > Number(largest_sum)) {
    throw Error(Exit::bad_input, "a sum over " + to_text(x) + " terms",
                "the number of terms is a whole number from 1 to " + std::to_string(largest_sum));
  }
  return static_cast<Count>(x.integer());
}

Count term_count(double x) { return term_count(Number(x)); }

// An unknown number of terms: the general term alone.
Count term_count(const Traced& x) { return x.has_value() ? term_count(x.value()) : 0; }

}  // namespace formula
}  // namespace llmcalc
