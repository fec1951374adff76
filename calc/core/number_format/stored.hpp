// How a number format stores a value: the nearest one it has, by exact arithmetic, ties to even.
#pragma once

#include <string>

#include "core/number_format/format.hpp"

namespace llmcalc::number_format {

enum class Outcome : unsigned char {
  exact,
  rounded,
  overflow,   // became infinity or NaN
  saturated,  // became the largest (or smallest) value there is
  underflow,  // became zero
  sign_lost,  // the format has no sign
};

std::string_view name_of(Outcome outcome);

struct Stored {
  Outcome outcome = Outcome::exact;
  bool infinite = false, nan = false, negative = false;
  bool subnormal = false;
  Dyadic magnitude = {};             // of a finite value
  std::uint64_t pattern = 0;         // the bits; of a block format: of the element
  std::optional<Dyadic> scale = {};  // of a block format: the scale of a block in which this value is the largest
  std::optional<double> error = {};  // |stored - value|, of finite ones

  bool is_finite() const { return !infinite && !nan; }
  double value() const { return negative ? -magnitude.as_double() : magnitude.as_double(); }
};

Stored store(const Format& format, const ExactValue& value);

// What a pattern of the format means; not for block formats. Bits above the format's are ignored.
Stored decode(const Format& format, std::uint64_t pattern);

}  // namespace llmcalc::number_format
