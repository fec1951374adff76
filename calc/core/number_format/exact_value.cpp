#include "core/number_format/exact_value.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

namespace llmcalc::number_format {
namespace {

constexpr int most_digits = 1000;
constexpr int largest_exponent = 5000;
constexpr std::uint32_t base = 10;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Both sides of x / (d * 2^q) as whole numbers.
struct Ratio {
  BigUnsigned above, below;
};

Ratio scaled(const ExactValue& x, int q) {
  Ratio ratio{x.numerator, x.denominator};
  if (q >= 0) {
    ratio.below.shift_left(q);
  } else {
    ratio.above.shift_left(-q);
  }
  return ratio;
}

}  // namespace

double Dyadic::as_double() const { return std::ldexp(static_cast<double>(significand), exponent); }

ExactValue ExactValue::magnitude() const {
  ExactValue x = *this;
  x.negative = false;
  return x;
}

ExactValue ExactValue::times_power_of_two(int exponent) const {
  ExactValue x = *this;
  const Ratio ratio = scaled(x, -exponent);
  x.numerator = ratio.above;
  x.denominator = ratio.below;
  return x;
}

ExactValue ExactValue::divided_by(const Dyadic& positive) const {
  ExactValue x = times_power_of_two(-positive.exponent);
  x.denominator = x.denominator * BigUnsigned(positive.significand);
  return x;
}

std::optional<ExactValue> parse_exact(std::string_view text) {
  ExactValue x;
  const auto take = [&](char c) {
    if (text.empty() || text.front() != c) return false;
    text.remove_prefix(1);
    return true;
  };
  x.negative = take('-');
  if (!x.negative) take('+');
  std::string word(text);
  for (char& c : word) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  if (word == "inf" || word == "infinity" || word == "nan") {
    x.kind = word == "nan" ? ExactValue::Kind::nan : ExactValue::Kind::infinity;
    return x;
  }
  int digits = 0, behind_point = 0;
  bool point = false;
  for (; !text.empty() && (is_digit(text.front()) || text.front() == '.' || text.front() == '_');
       text.remove_prefix(1)) {
    if (text.front() == '_') {
      if (digits == 0) return std::nullopt;
      continue;
    }
    if (text.front() == '.') {
      if (point) return std::nullopt;
      point = true;
      continue;
    }
    if (++digits > most_digits) return std::nullopt;
    x.numerator.multiply(base).add(static_cast<std::uint32_t>(text.front() - '0'));
    behind_point += point;
  }
  if (digits == 0) return std::nullopt;
  int exponent = 0;
  if (take('e') || take('E')) {
    const bool down = take('-');
    if (!down) take('+');
    if (text.empty()) return std::nullopt;
    for (; !text.empty() && is_digit(text.front()); text.remove_prefix(1)) {
      exponent = exponent * static_cast<int>(base) + (text.front() - '0');
      if (exponent > largest_exponent) return std::nullopt;
    }
    if (down) exponent = -exponent;
  }
  if (!text.empty()) return std::nullopt;
  exponent -= behind_point;
  for (; exponent > 0; --exponent) x.numerator.multiply(base);
  for (; exponent < 0; ++exponent) x.denominator.multiply(base);
  return x;
}

ExactValue exact(const Dyadic& value, bool negative) {
  ExactValue x;
  x.negative = negative;
  x.numerator = BigUnsigned(value.significand);
  return x.times_power_of_two(value.exponent);
}

ExactValue exact(double value) {
  ExactValue x;
  x.negative = std::signbit(value);
  if (!std::isfinite(value)) {
    x.kind = std::isnan(value) ? ExactValue::Kind::nan : ExactValue::Kind::infinity;
    return x;
  }
  constexpr int bits = std::numeric_limits<double>::digits;
  int exponent = 0;
  const double fraction = std::frexp(std::fabs(value), &exponent);
  const Dyadic whole{static_cast<std::uint64_t>(std::ldexp(fraction, bits)), exponent - bits};
  return exact(whole, x.negative);
}

int compare_magnitudes(const ExactValue& a, const ExactValue& b) {
  return compare(a.numerator * b.denominator, b.numerator * a.denominator);
}

int binary_exponent(const ExactValue& x) {
  const int e = x.numerator.bit_length() - x.denominator.bit_length();  // 2^(e-1) < x < 2^(e+1)
  const Ratio ratio = scaled(x, e);
  return compare(ratio.above, ratio.below) >= 0 ? e : e - 1;
}

Dyadic round_to_even(const ExactValue& x, int precision, int least_exponent) {
  if (x.is_zero()) return {};
  Dyadic result;
  result.exponent = std::max(binary_exponent(x) - (precision - 1), least_exponent);
  const Ratio ratio = scaled(x, result.exponent);
  BigUnsigned rest = ratio.above;
  for (int bit = precision; bit >= 0; --bit) {
    BigUnsigned part = ratio.below;
    part.shift_left(bit);
    if (compare(part, rest) > 0) continue;
    rest.subtract(part);
    result.significand |= std::uint64_t{1} << bit;
  }
  rest.shift_left(1);
  const int against_half = compare(rest, ratio.below);
  if (against_half > 0 || (against_half == 0 && result.significand % 2 == 1)) ++result.significand;
  if (result.significand >> precision != 0) {  // carried into one more bit, which the last one is not needed for
    result.significand >>= 1;
    ++result.exponent;
  }
  return result;
}

double distance(const ExactValue& x, const Dyadic& stored, bool stored_negative) {
  const ExactValue y = exact(stored, stored_negative);
  ExactValue difference;
  difference.denominator = x.denominator * y.denominator;
  BigUnsigned a = x.numerator * y.denominator, b = y.numerator * x.denominator;
  if (compare(a, b) < 0) std::swap(a, b);
  // The distance between different signs never matters for a rounded value: 0 is the only one stored then.
  difference.numerator = a.subtract(b);
  constexpr int precision = std::numeric_limits<double>::digits;
  constexpr int least = std::numeric_limits<double>::min_exponent - precision;
  return round_to_even(difference, precision, least).as_double();
}

}  // namespace llmcalc::number_format
