// A number that stays exact as long as it can: a fraction of two 128-bit integers, or a double once a real enters
// (a logarithm, a root, a measured value). So 6·10¹⁹ / (10¹⁴ · 0.4) is 1500000, not nearly so.
#pragma once

#include <string>
#include <string_view>

#include "core/units.hpp"

namespace llmcalc {

class Number {
 public:
  Number() = default;
  Number(int value) : numerator_(value) {}        // NOLINT(google-explicit-constructor): formulas mix both
  Number(Count value) : numerator_(value) {}      // NOLINT(google-explicit-constructor)
  Number(long long value) : numerator_(value) {}  // NOLINT(google-explicit-constructor)
  Number(Int128 value) : numerator_(value) {}     // NOLINT(google-explicit-constructor)
  // A whole double below 2^63 is exact; any other is a real. Infinity and NaN are refused (std::domain_error).
  Number(double value);  // NOLINT(google-explicit-constructor)

  // `numerator / denominator`, reduced. Throws std::domain_error when the denominator is 0.
  static Number fraction(Int128 numerator, Int128 denominator);

  // The decimal fraction that the double's shortest text spells: 0.4 is 2/5. What a typed number meant.
  static Number as_written(double value);

  bool is_exact() const { return exact_; }
  bool is_integer() const { return exact_ && denominator_ == 1; }
  // The integer; only for is_integer().
  Int128 integer() const { return numerator_; }
  double as_double() const;

  // Integers that leave 128 bits throw Overflow; a fraction that does becomes a real.
  friend Number operator+(const Number& a, const Number& b);
  friend Number operator-(const Number& a, const Number& b);
  friend Number operator*(const Number& a, const Number& b);
  friend Number operator/(const Number& a, const Number& b);  // std::domain_error when b is 0

  friend bool operator==(const Number& a, const Number& b);
  friend bool operator!=(const Number& a, const Number& b) { return !(a == b); }
  friend bool operator<(const Number& a, const Number& b);
  friend bool operator>(const Number& a, const Number& b) { return b < a; }
  friend bool operator<=(const Number& a, const Number& b) { return !(b < a); }
  friend bool operator>=(const Number& a, const Number& b) { return !(a < b); }
  friend Number floor(const Number& x);

 private:
  Int128 numerator_ = 0;
  Int128 denominator_ = 1;  // > 0
  double real_ = 0;
  bool exact_ = true;
};

Number floor(const Number& x);
Number ceil(const Number& x);
Number sqrt(const Number& x);  // exact for squares; std::domain_error below 0
Number log(const Number& x);   // natural; std::domain_error unless x > 0
Number exp(const Number& x);
Number power(const Number& x, int exponent);

// Digits grouped by commas when exact ("6,738,415,616"), powers of ten short ("6·10¹⁹"), else `digits` significant
// ones.
std::string to_text(const Number& x, int digits = 5);
// All digits, for machines: "60000000000000000000", "1500000", or the shortest text that reads back as the same double.
std::string to_digits(const Number& x);

}  // namespace llmcalc
