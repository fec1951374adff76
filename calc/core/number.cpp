// Exact fractions of 128-bit integers, and doubles where those end.
#include "core/number.hpp"

#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>

namespace llmcalc {
namespace {

Int128 gcd(Int128 a, Int128 b) {
  if (a < 0) a = -a;
  if (b < 0) b = -b;
  while (b != 0) {
    const Int128 rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

[[noreturn]] void outside_the_reals(const char* what) { throw std::domain_error(what); }

Number real(double value) { return Number(value); }

}  // namespace

Number::Number(double value) {
  if (!std::isfinite(value)) outside_the_reals("a value is not finite");
  constexpr double exact_limit = 9.2e18;  // whole doubles below 2^63 are that integer exactly
  if (std::fabs(value) < exact_limit && value == std::floor(value)) {
    numerator_ = static_cast<Int128>(value);
  } else {
    real_ = value;
    exact_ = false;
  }
}

Number Number::fraction(Int128 numerator, Int128 denominator) {
  if (denominator == 0) outside_the_reals("division by zero");
  const Int128 common = gcd(numerator, denominator) * (denominator < 0 ? -1 : 1);
  Number result;
  result.numerator_ = numerator / common;
  result.denominator_ = denominator / common;
  return result;
}

Number Number::as_written(double value) {
  const Number plain(value);
  if (plain.is_integer()) return plain;
  char buffer[64];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific).ptr;
  Int128 digits = 0;
  int exponent = 0;
  bool point = false;
  const char* at = buffer;
  for (; at != end && *at != 'e'; ++at) {
    if (*at == '.') {
      point = true;
    } else if (*at != '-') {
      digits = digits * 10 + (*at - '0');  // at most 17 digits
      exponent -= point;
    }
  }
  exponent += std::stoi(std::string(at + 1, static_cast<const char*>(end)));
  constexpr int largest_power = 30;  // of ten, with 17 digits inside 128 bits only where it divides
  if (exponent >= 0 || exponent < -largest_power) return plain;
  Int128 denominator = 1;
  for (; exponent < 0; ++exponent) denominator *= 10;
  return fraction(value < 0 ? -digits : digits, denominator);
}

double Number::as_double() const {
  if (!exact_) return real_;
  if (denominator_ == 1) return static_cast<double>(numerator_);
  // long double carries 64 bits where it is wider than double, so the quotient of large integers rounds once.
  return static_cast<double>(static_cast<long double>(numerator_) / static_cast<long double>(denominator_));
}

Number operator+(const Number& a, const Number& b) {
  if (a.exact_ && b.exact_) {
    if (a.denominator_ == 1 && b.denominator_ == 1) return Number(checked::add(a.numerator_, b.numerator_));
    Int128 left, right, bottom, top;
    if (!__builtin_mul_overflow(a.numerator_, b.denominator_, &left) &&
        !__builtin_mul_overflow(b.numerator_, a.denominator_, &right) &&
        !__builtin_mul_overflow(a.denominator_, b.denominator_, &bottom) &&
        !__builtin_add_overflow(left, right, &top)) {
      return Number::fraction(top, bottom);
    }
  }
  return real(a.as_double() + b.as_double());
}

Number operator-(const Number& a, const Number& b) { return a + Number(-1) * b; }

Number operator*(const Number& a, const Number& b) {
  if (a.exact_ && b.exact_) {
    if (a.denominator_ == 1 && b.denominator_ == 1) return Number(checked::multiply(a.numerator_, b.numerator_));
    // Reduce crosswise first, so that 10³⁰ · (1/10¹⁰) stays inside 128 bits.
    const Number left = Number::fraction(a.numerator_, b.denominator_);
    const Number right = Number::fraction(b.numerator_, a.denominator_);
    Int128 top, bottom;
    if (!__builtin_mul_overflow(left.numerator_, right.numerator_, &top) &&
        !__builtin_mul_overflow(left.denominator_, right.denominator_, &bottom)) {
      return Number::fraction(top, bottom);
    }
  }
  return real(a.as_double() * b.as_double());
}

Number operator/(const Number& a, const Number& b) {
  if (b == Number(0)) outside_the_reals("division by zero");
  if (b.exact_) return a * Number::fraction(b.denominator_, b.numerator_);
  return real(a.as_double() / b.real_);
}

bool operator==(const Number& a, const Number& b) {
  if (a.exact_ && b.exact_) return a.numerator_ == b.numerator_ && a.denominator_ == b.denominator_;
  return a.as_double() == b.as_double();
}

bool operator<(const Number& a, const Number& b) {
  if (a.exact_ && b.exact_) {
    Int128 left, right;
    if (!__builtin_mul_overflow(a.numerator_, b.denominator_, &left) &&
        !__builtin_mul_overflow(b.numerator_, a.denominator_, &right)) {
      return left < right;
    }
  }
  return a.as_double() < b.as_double();
}

Number floor(const Number& x) {
  if (x.is_integer()) return x;
  if (!x.is_exact()) return real(std::floor(x.as_double()));
  const Int128 truncated = x.numerator_ / x.denominator_;
  return Number(x.numerator_ < 0 ? truncated - 1 : truncated);
}

Number ceil(const Number& x) { return Number(-1) * floor(Number(-1) * x); }

Number sqrt(const Number& x) {
  if (x < Number(0)) outside_the_reals("the square root of a negative number");
  const double root = std::sqrt(x.as_double());
  const Number whole(root);
  if (x.is_exact()) {
    if (whole.is_integer() && whole * whole == x) return whole;
    const double inverse = root > 0 ? 1 / root : 0;
    const Number bottom(std::round(inverse));
    if (bottom.is_integer() && bottom > Number(0) && Number(1) / (bottom * bottom) == x) return Number(1) / bottom;
  }
  return whole;
}

Number log(const Number& x) {
  if (x <= Number(0)) outside_the_reals("the logarithm of a number that is not positive");
  return real(std::log(x.as_double()));
}

Number exp(const Number& x) { return real(std::exp(x.as_double())); }

Number power(const Number& x, int exponent) {
  Number result(1);
  for (int i = 0; i < std::abs(exponent); ++i) result = result * x;
  return exponent < 0 ? Number(1) / result : result;
}

namespace {

std::string superscript(int exponent) {
  constexpr const char* digits[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
  std::string text = exponent < 0 ? "⁻" : "";
  for (char digit : std::to_string(std::abs(exponent))) text += digits[digit - '0'];
  return text;
}

std::string grouped(const std::string& digits) {
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    const std::size_t left = digits.size() - i;
    if (i > 0 && left % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

}  // namespace

std::string to_text(const Number& x, int digits) {
  if (x < Number(0)) return "−" + to_text(Number(-1) * x, digits);
  if (x.is_integer()) {
    const std::string all = to_string(x.integer());
    const std::size_t last = all.find_last_not_of('0');
    const std::size_t zeros = last == std::string::npos ? 0 : all.size() - 1 - last;
    constexpr std::size_t many_zeros = 7;  // 1,500,000 reads well; 60,000,000,000 does not
    if (zeros >= many_zeros) {
      std::string mantissa = all.substr(0, all.size() - zeros);
      std::string power = "10" + superscript(static_cast<int>(all.size()) - 1);
      if (mantissa == "1") return power;
      if (mantissa.size() > 1) mantissa.insert(1, ".");
      return mantissa + "·" + power;
    }
    return grouped(all);
  }
  char buffer[64];
  const double value = x.as_double();
  constexpr double plain_below = 1e7;
  constexpr double plain_above = 1e-4;
  if (value != 0 && (value >= plain_below || value < plain_above)) {
    std::snprintf(buffer, sizeof buffer, "%.*e", digits - 1, value);
    std::string text(buffer);
    const std::size_t e = text.find('e');
    std::string mantissa = text.substr(0, e);
    if (mantissa.find('.') != std::string::npos) {
      mantissa.erase(mantissa.find_last_not_of('0') + 1);
      if (mantissa.back() == '.') mantissa.pop_back();
    }
    return mantissa + "·10" + superscript(std::stoi(text.substr(e + 1)));
  }
  std::snprintf(buffer, sizeof buffer, "%.*g", digits, value);
  std::string text(buffer);
  if (text.find('e') != std::string::npos) {
    std::snprintf(buffer, sizeof buffer, "%.0f", value);  // more whole digits than asked for: show them all
    text = buffer;
  }
  const std::size_t point = text.find('.');
  return grouped(text.substr(0, point)) + (point == std::string::npos ? "" : text.substr(point));
}

std::string to_digits(const Number& x) {
  if (x.is_integer()) return to_string(x.integer());
  char buffer[64];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, x.as_double()).ptr;
  return std::string(buffer, end);
}

}  // namespace llmcalc
