// Formulas written once. A rule is a function template over a number type N:
//
//   template <class N>
//   N training_time(N flops, N devices, N peak, N mfu) { return flops / (devices * peak * mfu); }
//
// With N = double or Number it just computes, at no extra cost. With N = Traced it also builds a small expression, from
// which the symbolic form, the form with the values put in, the unit and the inverse are read. See docs/formulas.md.
#pragma once

#include <cmath>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/diagnostics.hpp"
#include "core/dimension.hpp"
#include "core/number.hpp"

namespace llmcalc {

// A formula whose units do not fit (bytes added to FLOPs). A mistake in a rule, never in what a user typed.
class FormulaError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

namespace formula {

enum class Op {
  constant,
  symbol,
  add,
  subtract,
  multiply,
  divide,
  power,
  root,
  log,
  exp,
  floor,
  ceil,
  max,
  min,
  sum,
  where
};

// One node of an expression. Immutable, shared between expressions.
struct Node {
  Op op = Op::constant;
  std::vector<std::shared_ptr<const Node>> children;  // `where`: left and right of the condition, then, else
                                                      // `sum`: the number of terms, the general term, then every term
  std::string name;                                   // `symbol`: its sign in the formula; `sum`: the index
  std::string shown;                                  // `symbol`: the value as it stands in the substituted form
  int exponent = 0;                                   // `power`
  std::optional<Number> value;                        // absent while it depends on an unknown
  Dimension dimension;
};
using NodePtr = std::shared_ptr<const Node>;

}  // namespace formula

// A number that remembers how it came about.
class Traced {
 public:
  Traced(Count value);  // NOLINT(google-explicit-constructor): literals in formulas are plain numbers
  Traced(int value) : Traced(Count{value}) {}  // NOLINT(google-explicit-constructor)
  explicit Traced(formula::NodePtr node) : node_(std::move(node)) {}

  static Traced constant(const Number& value, Dimension dimension);
  // A known value. `shown` is how it stands in the substituted form; empty: value and unit.
  static Traced symbol(std::string sign, const Number& value, Dimension dimension, std::string shown = {});
  static Traced unknown(std::string sign, Dimension dimension);

  const formula::NodePtr& node() const { return node_; }
  bool has_value() const { return node_->value.has_value(); }
  // Throws FormulaError while the value depends on an unknown.
  const Number& value() const;
  Dimension dimension() const { return node_->dimension; }

  friend Traced operator+(const Traced& a, const Traced& b);
  friend Traced operator-(const Traced& a, const Traced& b);
  friend Traced operator*(const Traced& a, const Traced& b);
  friend Traced operator/(const Traced& a, const Traced& b);

 private:
  formula::NodePtr node_;
};

// ---- What a formula can use beside + - * / -----------------------------------------------------------------------

// A coefficient with its unit: 6 FLOP per parameter and token is `constant<N>(6, dim::flop / dim::parameter /
// dim::token)`.
template <class N>
N constant(Count value, Dimension dimension) {
  if constexpr (std::is_same_v<N, Traced>) {
    return Traced::constant(value, dimension);
  } else {
    return static_cast<N>(value);
  }
}

template <class N>
N max_of(const N& a, const N& b) {
  return a < b ? b : a;
}
template <class N>
N min_of(const N& a, const N& b) {
  return b < a ? b : a;
}
Traced max_of(const Traced& a, const Traced& b);
Traced min_of(const Traced& a, const Traced& b);

inline double power_of(double x, int exponent) { return std::pow(x, exponent); }
inline Number power_of(const Number& x, int exponent) { return power(x, exponent); }
Traced power_of(const Traced& x, int exponent);

inline double root_of(double x) { return std::sqrt(x); }
inline Number root_of(const Number& x) { return sqrt(x); }
Traced root_of(const Traced& x);

inline double log_of(double x) { return std::log(x); }
inline Number log_of(const Number& x) { return log(x); }
Traced log_of(const Traced& x);  // natural, of a plain number

inline double exp_of(double x) { return std::exp(x); }
inline Number exp_of(const Number& x) { return exp(x); }
Traced exp_of(const Traced& x);

inline double floor_of(double x) { return std::floor(x); }
inline Number floor_of(const Number& x) { return floor(x); }
Traced floor_of(const Traced& x);

// ⌈a / b⌉
inline double ceil_div(double a, double b) { return std::ceil(a / b); }
inline Number ceil_div(const Number& a, const Number& b) { return ceil(a / b); }
Traced ceil_div(const Traced& a, const Traced& b);

// A condition `left ≤ right`; with Traced it keeps both sides, so that the branch taken can be explained.
struct TracedCondition {
  Traced left, right;
};
template <class N>
bool at_most(const N& left, const N& right) {
  return left <= right;
}
inline TracedCondition at_most(const Traced& left, const Traced& right) { return {left, right}; }

template <class N>
N where(bool condition, const N& then_value, const N& else_value) {
  return condition ? then_value : else_value;
}
Traced where(const TracedCondition& condition, const Traced& then_value, const Traced& else_value);

// The running index of a sum. `position` counts from 1; 0 stands for the general term.
struct Index {
  std::string_view name;
  Count position = 0;
};

// The index as a number in a formula.
template <class N>
N number(Index index) {
  if constexpr (std::is_same_v<N, Traced>) {
    return index.position == 0 ? Traced::unknown(std::string(index.name), dim::none) : Traced(index.position);
  } else {
    return static_cast<N>(index.position);
  }
}

// Several values of one kind: layer sizes, micro-batches.
template <class N>
struct List {
  std::string_view name;
  std::vector<N> items;

  Count size() const { return static_cast<Count>(items.size()); }
  // The size as a number in a formula, with the sign it has there.
  N count(std::string_view sign) const {
    if constexpr (std::is_same_v<N, Traced>) {
      return Traced::symbol(std::string(sign), Number(size()), dim::none);
    } else {
      return static_cast<N>(size());
    }
  }
  N operator[](Index index) const {
    if constexpr (std::is_same_v<N, Traced>) {
      if (index.position == 0) {
        const Dimension dimension = items.empty() ? dim::none : items.front().dimension();
        return Traced::unknown(std::string(name) + "_" + std::string(index.name), dimension);
      }
    }
    return items[static_cast<std::size_t>(index.position - 1)];
  }
};

namespace formula {
Traced make_sum(std::string_view index, const Traced& count, const Traced& general_term,
                const std::vector<Traced>& terms);
Traced ceil_of(const Traced& x);

// The value of `x` as a number of terms: a whole number from 1 to `largest_sum`, else Error(bad_input).
constexpr Count largest_sum = 100000;
Count term_count(double x);
Count term_count(const Number& x);
Count term_count(const Traced& x);
}  // namespace formula

// Σ over `index` = 1..count of term(index), written `sum<N>("l", layers, [&](Index l) { return width[l] * height; })`.
template <class N, class Term>
N sum(std::string_view index, const N& count, Term term) {
  const Count terms = formula::term_count(count);
  if constexpr (std::is_same_v<N, Traced>) {
    std::vector<Traced> all;
    for (Count i = 1; i <= terms; ++i) all.push_back(term(Index{index, i}));
    return formula::make_sum(index, count, term(Index{index, 0}), all);
  } else {
    N total = term(Index{index, 1});
    for (Count i = 2; i <= terms; ++i) total = total + term(Index{index, i});
    return total;
  }
}

// ---- What can be read from an expression ----------------------------------------------------------------------------

namespace formula {

// "6 · N · D / (G · P · MFU)"
std::string symbolic(const Traced& expression);
// The same with the values put in: "6 · 10⁹ parameters · 10¹⁰ tokens / …"; the branch taken says why it was.
std::string substituted(const Traced& expression);
// A value with its unit, scaled for reading: "100 TFLOP/s", "64 MiB", "1,500,000 s".
std::string text(const Number& value, Dimension dimension);

// How often `sign` stands in the expression.
int occurrences(const Traced& expression, std::string_view sign);

// The unknown `sign` as an expression of `result`, where `expression` = `result`: training time solved for the MFU is
// C / (G · P · T). Throws Unsolvable with the reason: it stands there twice or not at all, under a rounding, on the
// side of a max, min or branch that is not taken, or no value gives the result.
Traced solve(const Traced& expression, std::string_view sign, const Traced& result);

// The expression with the symbol `sign` replaced.
Traced replace(const Traced& expression, std::string_view sign, const Traced& replacement);

class Unsolvable : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace formula
}  // namespace llmcalc
