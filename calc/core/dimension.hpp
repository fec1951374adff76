// What a value is measured in, as exponents of a few base units, so that formulas can be checked at run time.
// Elements, sequences, layers, devices and ratios are plain numbers: dimension `none`.
#pragma once

#include <array>
#include <cstddef>
#include <string>

namespace llmcalc {

struct Dimension {
  // The exponents, in this order.
  enum Base : std::size_t { flop, byte, token, parameter, dollar, joule, second, base_count };

  std::array<signed char, base_count> exponents{};

  constexpr bool is_none() const {
    for (signed char exponent : exponents) {
      if (exponent != 0) return false;
    }
    return true;
  }

  // True for tokens, parameters and plain numbers: what people write without a unit.
  constexpr bool is_counted() const {
    for (std::size_t i = 0; i < base_count; ++i) {
      if (i == token || i == parameter) continue;
      if (exponents[i] != 0) return false;
    }
    return exponents[token] >= 0 && exponents[parameter] >= 0;
  }

  friend constexpr Dimension operator*(Dimension a, Dimension b) {
    for (std::size_t i = 0; i < base_count; ++i)
      a.exponents[i] = static_cast<signed char>(a.exponents[i] + b.exponents[i]);
    return a;
  }
  friend constexpr Dimension operator/(Dimension a, Dimension b) {
    for (std::size_t i = 0; i < base_count; ++i)
      a.exponents[i] = static_cast<signed char>(a.exponents[i] - b.exponents[i]);
    return a;
  }
  friend constexpr bool operator==(Dimension a, Dimension b) {
    for (std::size_t i = 0; i < base_count; ++i) {
      if (a.exponents[i] != b.exponents[i]) return false;
    }
    return true;
  }
  friend constexpr bool operator!=(Dimension a, Dimension b) { return !(a == b); }
};

// The units formulas are written in: `dim::flop / (dim::parameter * dim::token)`.
namespace dim {

constexpr Dimension base(Dimension::Base which) {
  Dimension dimension;
  dimension.exponents[which] = 1;
  return dimension;
}

inline constexpr Dimension none{};
inline constexpr Dimension flop = base(Dimension::flop);
inline constexpr Dimension byte = base(Dimension::byte);
inline constexpr Dimension token = base(Dimension::token);
inline constexpr Dimension parameter = base(Dimension::parameter);
inline constexpr Dimension dollar = base(Dimension::dollar);
inline constexpr Dimension joule = base(Dimension::joule);
inline constexpr Dimension second = base(Dimension::second);
inline constexpr Dimension flops_per_second = flop / second;
inline constexpr Dimension bytes_per_second = byte / second;
inline constexpr Dimension watt = joule / second;

}  // namespace dim

// "FLOP/s", "B/parameter", "FLOP/(parameter·token)", "W"; empty for plain numbers.
std::string to_string(Dimension dimension);

// The unit in words for a message: "a rate in FLOP/s", "a size in bytes", "a number without a unit", ...
std::string in_words(Dimension dimension);

}  // namespace llmcalc
