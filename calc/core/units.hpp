// Strong units: a quantity knows what it counts, so adding bytes to FLOPs does not compile.
//
// Counts (Bytes, Flops, plain Count) are exact integers; every arithmetic step is checked and throws
// Overflow rather than wrap. Rates and times are doubles.
#pragma once

#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>

namespace llmcalc {

using Count = std::int64_t;             // how many: elements, tokens, layers, heads
__extension__ using Int128 = __int128;  // FLOPs of whole runs reach 10^26

// A count left its integer type. `what()` names the computation.
class Overflow : public std::overflow_error {
 public:
  using std::overflow_error::overflow_error;
};

namespace checked {

template <class T>
T add(T a, T b) {
  T sum;
  if (__builtin_add_overflow(a, b, &sum)) throw Overflow("a sum of counts is too large");
  return sum;
}

template <class T>
T subtract(T a, T b) {
  T difference;
  if (__builtin_sub_overflow(a, b, &difference)) throw Overflow("a difference of counts is too large");
  return difference;
}

template <class T>
T multiply(T a, T b) {
  T product;
  if (__builtin_mul_overflow(a, b, &product)) throw Overflow("a product of counts is too large");
  return product;
}

}  // namespace checked

// ceil(a / b) for a >= 0, b > 0.
inline Count ceil_div(Count a, Count b) { return a / b + (a % b != 0); }

// A count of one kind of thing. `Unit` is only a tag.
template <class Unit, class Rep>
class Exact {
 public:
  constexpr Exact() = default;
  constexpr explicit Exact(Rep value) : value_(value) {}

  constexpr Rep value() const { return value_; }
  constexpr double as_double() const { return static_cast<double>(value_); }

  friend Exact operator+(Exact a, Exact b) { return Exact(checked::add(a.value_, b.value_)); }
  friend Exact operator-(Exact a, Exact b) { return Exact(checked::subtract(a.value_, b.value_)); }
  friend Exact operator*(Exact a, Count n) { return Exact(checked::multiply(a.value_, static_cast<Rep>(n))); }
  friend Exact operator*(Count n, Exact a) { return a * n; }
  Exact& operator+=(Exact b) { return *this = *this + b; }
  Exact& operator-=(Exact b) { return *this = *this - b; }

  friend constexpr bool operator==(Exact a, Exact b) { return a.value_ == b.value_; }
  friend constexpr bool operator!=(Exact a, Exact b) { return a.value_ != b.value_; }
  friend constexpr bool operator<(Exact a, Exact b) { return a.value_ < b.value_; }
  friend constexpr bool operator>(Exact a, Exact b) { return a.value_ > b.value_; }
  friend constexpr bool operator<=(Exact a, Exact b) { return a.value_ <= b.value_; }
  friend constexpr bool operator>=(Exact a, Exact b) { return a.value_ >= b.value_; }

 private:
  Rep value_ = 0;
};

// A measured or derived magnitude, in the unit's base (bytes/s, FLOP/s, s, W).
template <class Unit>
class Real {
 public:
  constexpr Real() = default;
  constexpr explicit Real(double value) : value_(value) {}

  constexpr double value() const { return value_; }

  friend constexpr Real operator+(Real a, Real b) { return Real(a.value_ + b.value_); }
  friend constexpr Real operator-(Real a, Real b) { return Real(a.value_ - b.value_); }
  friend constexpr Real operator*(Real a, double x) { return Real(a.value_ * x); }
  friend constexpr Real operator*(double x, Real a) { return Real(a.value_ * x); }
  friend constexpr Real operator/(Real a, double x) { return Real(a.value_ / x); }
  friend constexpr double operator/(Real a, Real b) { return a.value_ / b.value_; }
  Real& operator+=(Real b) { return *this = *this + b; }

  friend constexpr bool operator==(Real a, Real b) { return a.value_ == b.value_; }
  friend constexpr bool operator<(Real a, Real b) { return a.value_ < b.value_; }
  friend constexpr bool operator>(Real a, Real b) { return a.value_ > b.value_; }
  friend constexpr bool operator<=(Real a, Real b) { return a.value_ <= b.value_; }
  friend constexpr bool operator>=(Real a, Real b) { return a.value_ >= b.value_; }

 private:
  double value_ = 0;
};

namespace unit {
struct byte;
struct flop;
struct second;
struct flop_per_second;
struct byte_per_second;
struct flop_per_byte;
struct watt;
struct hertz;
struct dollar_per_hour;
}  // namespace unit

using Bytes = Exact<unit::byte, Count>;
using Flops = Exact<unit::flop, Int128>;
using Seconds = Real<unit::second>;
using FlopsPerSecond = Real<unit::flop_per_second>;
using BytesPerSecond = Real<unit::byte_per_second>;
using FlopsPerByte = Real<unit::flop_per_byte>;
using Watts = Real<unit::watt>;
using Hertz = Real<unit::hertz>;
using DollarsPerHour = Real<unit::dollar_per_hour>;

inline Seconds operator/(Flops work, FlopsPerSecond rate) { return Seconds(work.as_double() / rate.value()); }
inline Seconds operator/(Bytes moved, BytesPerSecond rate) { return Seconds(moved.as_double() / rate.value()); }
inline FlopsPerSecond operator/(Flops work, Seconds time) { return FlopsPerSecond(work.as_double() / time.value()); }
inline BytesPerSecond operator/(Bytes moved, Seconds time) { return BytesPerSecond(moved.as_double() / time.value()); }
inline FlopsPerByte operator/(Flops work, Bytes moved) { return FlopsPerByte(work.as_double() / moved.as_double()); }
inline FlopsPerByte operator/(FlopsPerSecond peak, BytesPerSecond rate) {
  return FlopsPerByte(peak.value() / rate.value());
}

// All digits of a count, exactly.
std::string to_string(Int128 value);
inline std::string to_string(Flops flops) { return to_string(flops.value()); }
inline std::string to_string(Bytes bytes) { return std::to_string(bytes.value()); }

}  // namespace llmcalc
