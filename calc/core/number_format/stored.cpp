#include "core/number_format/stored.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace llmcalc::number_format {
namespace {

std::uint64_t ones(int bits) {
  constexpr int all = 64;
  return bits == all ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
}

std::uint64_t sign_bit(const Format& f) { return std::uint64_t{1} << (f.bits - 1); }

std::uint64_t nan_pattern(const Format& f) {
  switch (f.family) {
    case Family::unsigned_zero: return sign_bit(f);
    case Family::ieee: return (ones(f.exponent_bits) << f.fraction_bits) | (std::uint64_t{1} << (f.fraction_bits - 1));
    default: return ones(f.bits - (f.is_signed ? 1 : 0));
  }
}

bool has_nan(const Format& f) {
  return f.family == Family::ieee || f.family == Family::one_nan || f.family == Family::unsigned_zero ||
         f.family == Family::powers;
}

// Exponent and fraction fields of a magnitude that the format holds.
std::uint64_t pattern_of(const Format& f, const Dyadic& value) {
  if (value.significand == 0) return 0;
  // Bring the significand to as many bits as the format has, or to its finest step.
  Dyadic v = value;
  const int finest = least_exponent(f);
  while (v.significand % 2 == 0) {
    v.significand /= 2;
    ++v.exponent;
  }
  while (v.exponent > finest && v.significand >> f.fraction_bits == 0) {
    v.significand *= 2;
    --v.exponent;
  }
  const bool subnormal = v.significand >> f.fraction_bits == 0;
  if (subnormal) return v.significand;
  const int biased = v.exponent - finest + 1;
  return (static_cast<std::uint64_t>(biased) << f.fraction_bits) | (v.significand & ones(f.fraction_bits));
}

void set_nan(const Format& f, Stored& s) {
  s.nan = true;
  s.negative = false;
  s.magnitude = {};
  s.pattern = nan_pattern(f);
}

void set_infinite(const Format& f, Stored& s) {
  s.infinite = true;
  s.magnitude = {};
  s.pattern = (ones(f.exponent_bits) << f.fraction_bits) | (s.negative ? sign_bit(f) : 0);
}

Dyadic as_dyadic(double value) {
  constexpr int bits = 53;  // of a double's significand
  int exponent = 0;
  const double fraction = std::frexp(std::fabs(value), &exponent);
  Dyadic dyadic{static_cast<std::uint64_t>(std::ldexp(fraction, bits)), exponent - bits};
  while (dyadic.significand != 0 && dyadic.significand % 2 == 0) {  // short, so that products of two fit 64 bits
    dyadic.significand /= 2;
    ++dyadic.exponent;
  }
  return dyadic;
}

void set_largest(const Format& f, Stored& s) {
  const Limits limits = limits_of(f);
  s.magnitude = as_dyadic(s.negative ? limits.min : limits.max);
  s.outcome = Outcome::saturated;
}

Stored store_float(const Format& f, const ExactValue& x) {
  Stored s;
  s.negative = x.negative;
  if (x.kind == ExactValue::Kind::nan) {
    if (has_nan(f)) {
      set_nan(f, s);
      return s;
    }
    set_largest(f, s);  // what conversions of the MX specification leave open
    s.pattern = pattern_of(f, s.magnitude) | (s.negative ? sign_bit(f) : 0);
    return s;
  }
  bool too_large = x.kind == ExactValue::Kind::infinity;
  if (!too_large) {
    s.magnitude = round_to_even(x, f.fraction_bits + 1, least_exponent(f));
    too_large = s.magnitude.significand != 0 && compare_magnitudes(exact(s.magnitude), exact(limits_of(f).max)) > 0;
  }
  if (too_large) {
    if (f.family == Family::ieee) {
      set_infinite(f, s);
    } else if (f.family == Family::unsigned_zero) {
      set_nan(f, s);
    } else {
      set_largest(f, s);
    }
    if (!s.is_finite()) {
      s.outcome = x.kind == ExactValue::Kind::infinity && s.infinite ? Outcome::exact : Outcome::overflow;
      return s;
    }
  } else if (s.magnitude.significand == 0 && !x.is_zero()) {
    s.outcome = Outcome::underflow;
  } else if (!x.is_zero() && compare_magnitudes(exact(s.magnitude), x) != 0) {
    s.outcome = Outcome::rounded;
  }
  if (s.magnitude.significand == 0 && f.family == Family::unsigned_zero) s.negative = false;
  s.pattern = pattern_of(f, s.magnitude) | (s.negative ? sign_bit(f) : 0);
  s.subnormal = s.magnitude.significand != 0 && ((s.pattern >> f.fraction_bits) & ones(f.exponent_bits)) == 0;
  return s;
}

// The nearest power of two by its significand (a tie goes up, to the even pattern of one bit); the smallest for 0 and
// what is below it. The sign is dropped. All as PyTorch converts.
Stored store_power(const Format& f, const ExactValue& x) {
  Stored s;
  const int lowest = -f.bias, highest = static_cast<int>(ones(f.exponent_bits)) - 1 - f.bias;
  if (x.kind != ExactValue::Kind::finite) {
    set_nan(f, s);
    s.outcome = x.kind == ExactValue::Kind::nan ? Outcome::exact : Outcome::overflow;
    return s;
  }
  int exponent = lowest;
  if (!x.is_zero()) {
    const Dyadic rounded = round_to_even(x, 1, -100'000);
    exponent = std::max(rounded.exponent, lowest);
  }
  if (exponent > highest) {
    set_nan(f, s);
    s.outcome = Outcome::overflow;
    return s;
  }
  s.magnitude = {1, exponent};
  const int biased = exponent + f.bias;
  s.pattern = static_cast<std::uint64_t>(biased);
  const int against = x.is_zero() ? 1 : compare_magnitudes(exact(s.magnitude), x);
  if (against != 0) s.outcome = exponent == lowest && against > 0 ? Outcome::saturated : Outcome::rounded;
  if (x.negative && !x.is_zero()) s.outcome = Outcome::sign_lost;
  return s;
}

Stored store_integer(const Format& f, const ExactValue& x) {
  Stored s;
  s.negative = x.negative;
  if (x.kind == ExactValue::Kind::nan) {  // no conversion defines it
    s.negative = false;
    s.nan = true;
    s.outcome = Outcome::overflow;
    return s;
  }
  const Limits limits = limits_of(f);
  constexpr int precision = 62;  // more than any integer format here has
  const bool infinite = x.kind == ExactValue::Kind::infinity;
  if (!infinite) s.magnitude = round_to_even(x, precision, 0);
  const double bound = x.negative ? -limits.min : limits.max;
  if (infinite || compare_magnitudes(exact(s.magnitude), exact(bound)) > 0) {
    set_largest(f, s);
  } else if (s.magnitude.significand == 0 && !x.is_zero()) {
    s.outcome = Outcome::underflow;
  } else if (compare_magnitudes(exact(s.magnitude), x) != 0) {
    s.outcome = Outcome::rounded;
  }
  if (s.magnitude.significand == 0) s.negative = false;
  const auto whole = static_cast<std::uint64_t>(s.magnitude.as_double());
  s.pattern = (s.negative ? ~whole + 1 : whole) & ones(f.bits);
  return s;
}

Stored store_codebook(const Format& f, const ExactValue& x) {
  Stored s;
  const std::vector<double>& values = nf4_values();
  if (x.kind == ExactValue::Kind::nan) {
    s.nan = true;
    s.outcome = Outcome::overflow;
    return s;
  }
  // The first value whose midpoint with the next one is not passed; a tie stays with the lower one.
  const auto passes = [&](double middle) {
    if (x.is_zero()) return middle < 0;
    if (x.negative != (middle < 0)) return !x.negative;
    const int against = x.kind == ExactValue::Kind::infinity ? 1 : compare_magnitudes(x, exact(middle));
    return x.negative ? against < 0 : against > 0;
  };
  std::size_t i = 0;
  while (i + 1 < values.size() && passes((values[i] + values[i + 1]) / 2)) ++i;
  s.negative = values[i] < 0;
  s.magnitude = as_dyadic(values[i]);
  s.pattern = i;
  const bool beyond = x.kind == ExactValue::Kind::infinity || compare_magnitudes(x, exact(limits_of(f).max)) > 0;
  if (beyond) {
    s.outcome = Outcome::saturated;
  } else if (values[i] == 0 && !x.is_zero()) {
    s.outcome = Outcome::underflow;
  } else if (compare_magnitudes(x, exact(values[i])) != 0) {
    s.outcome = Outcome::rounded;
  }
  return s;
}

// The value as the largest of its block, which sets the scale. A power of two (MX) is floor(log2 |x|) less the largest
// exponent of the elements, as the specification has it; a scale with a fraction (NVFP4) is |x| / the largest element.
Stored store_in_block(const Format& f, const ExactValue& x) {
  const Format& element = *format_named(f.element);
  const Format& scales = *format_named(f.scale);
  if (x.kind != ExactValue::Kind::finite) {
    Stored s = store_float(element, x);
    if (!s.nan) s.outcome = Outcome::overflow;
    return s;
  }
  if (x.is_zero()) {
    Stored s = store_float(element, x);
    s.scale = Dyadic{1, 0};
    return s;
  }
  const double largest = limits_of(element).max;
  Dyadic scale;
  if (scales.family == Family::powers) {
    const int wanted = binary_exponent(x) - std::ilogb(largest);
    const int limit = scales.bias;
    scale = {1, std::clamp(wanted, -limit, limit)};
  } else {
    scale = store(scales, x.magnitude().divided_by(as_dyadic(largest))).magnitude;
    if (scale.significand == 0) scale = {1, least_exponent(scales)};  // a block cannot be scaled by 0
  }
  Stored s = store_float(element, x.divided_by(scale));
  if (s.infinite) {  // e5m2 as an element saturates too
    s = {};
    s.negative = x.negative;
    set_largest(element, s);
    s.pattern = pattern_of(element, s.magnitude) | (s.negative ? sign_bit(element) : 0);
  }
  s.scale = scale;
  s.magnitude = {s.magnitude.significand * scale.significand, s.magnitude.exponent + scale.exponent};
  return s;
}

}  // namespace

std::string_view name_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::exact: return "exact";
    case Outcome::rounded: return "rounded";
    case Outcome::overflow: return "overflow";
    case Outcome::saturated: return "saturated";
    case Outcome::underflow: return "underflow";
    case Outcome::sign_lost: break;
  }
  return "sign lost";
}

Stored store(const Format& format, const ExactValue& value) {
  Stored s;
  switch (format.family) {
    case Family::powers: s = store_power(format, value); break;
    case Family::integer: s = store_integer(format, value); break;
    case Family::codebook: s = store_codebook(format, value); break;
    case Family::block: s = store_in_block(format, value); break;
    default: s = store_float(format, value); break;
  }
  const bool comparable = s.is_finite() && value.kind == ExactValue::Kind::finite && s.outcome != Outcome::sign_lost;
  if (comparable) s.error = distance(value, s.magnitude, s.negative);
  return s;
}

Stored decode(const Format& f, std::uint64_t pattern) {
  Stored s;
  s.pattern = pattern & ones(f.bits);
  if (f.family == Family::codebook) {
    const double value = nf4_values()[s.pattern];
    s.negative = value < 0;
    s.magnitude = as_dyadic(value);
    return s;
  }
  if (f.family == Family::integer) {
    s.negative = f.is_signed && (s.pattern & sign_bit(f)) != 0;
    s.magnitude = {s.negative ? (~s.pattern + 1) & ones(f.bits) : s.pattern, 0};
    return s;
  }
  if (f.family == Family::powers) {
    s.nan = s.pattern == ones(f.bits);
    if (!s.nan) s.magnitude = {1, static_cast<int>(s.pattern) - f.bias};
    return s;
  }
  const std::uint64_t fraction = s.pattern & ones(f.fraction_bits);
  const std::uint64_t exponent = (s.pattern >> f.fraction_bits) & ones(f.exponent_bits);
  s.negative = (s.pattern & sign_bit(f)) != 0;
  if (f.family == Family::ieee && exponent == ones(f.exponent_bits)) {
    s.infinite = fraction == 0;
    s.nan = !s.infinite;
  } else if (f.family == Family::one_nan) {
    s.nan = (s.pattern & ~sign_bit(f)) == nan_pattern(f);
  } else if (f.family == Family::unsigned_zero) {
    s.nan = s.pattern == nan_pattern(f);
  }
  if (!s.is_finite()) return s;
  s.subnormal = exponent == 0 && fraction != 0;
  const int finest = least_exponent(f);
  if (exponent == 0) {
    s.magnitude = {fraction, finest};
  } else {
    s.magnitude = {fraction | (std::uint64_t{1} << f.fraction_bits), finest + static_cast<int>(exponent) - 1};
  }
  return s;
}

}  // namespace llmcalc::number_format
