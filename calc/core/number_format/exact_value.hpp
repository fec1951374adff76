// A value exactly as it was written, 3.3895e38 as the fraction it is, and its rounding to a number of bits.
#pragma once

#include <optional>
#include <string_view>

#include "core/number_format/big_unsigned.hpp"

namespace llmcalc::number_format {

// significand x 2^exponent.
struct Dyadic {
  std::uint64_t significand = 0;
  int exponent = 0;

  double as_double() const;  // exact for up to 53 bits in the range of a double
};

// numerator / denominator, with a sign of its own (-0 exists), or no number at all.
struct ExactValue {
  enum class Kind : unsigned char { finite, infinity, nan };

  Kind kind = Kind::finite;
  bool negative = false;
  BigUnsigned numerator, denominator = BigUnsigned(1);

  bool is_zero() const { return kind == Kind::finite && numerator.is_zero(); }
  ExactValue magnitude() const;
  ExactValue times_power_of_two(int exponent) const;
  ExactValue divided_by(const Dyadic& positive) const;
};

// "70000", "-1e-8", "3.3895e38", "0x1.8p3" is not read; "inf", "-inf", "nan". Nothing when it is no number, or one with
// more than 1000 digits or an exponent beyond +-5000.
std::optional<ExactValue> parse_exact(std::string_view text);

ExactValue exact(const Dyadic& value, bool negative = false);
ExactValue exact(double value);

// |a| against |b|, both finite: < 0, 0, > 0.
int compare_magnitudes(const ExactValue& a, const ExactValue& b);

// floor(log2 |x|) for finite x != 0.
int binary_exponent(const ExactValue& x);

// |x| rounded to the nearest multiple of a power of two, ties to the even one: `precision` significant bits (at most
// 63), but no finer than 2^least_exponent. The result has at most `precision` bits; it may be 0.
Dyadic round_to_even(const ExactValue& x, int precision, int least_exponent);

// |x - stored| as a double, itself correctly rounded.
double distance(const ExactValue& x, const Dyadic& stored, bool stored_negative);

}  // namespace llmcalc::number_format
