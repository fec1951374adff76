// Number formats of 16 and 8 bits as float32, by their bits; not-a-number stays one.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

namespace llmcalc {

inline float float_of_bits(std::uint32_t bits) {
  float value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

inline float from_bfloat16(std::uint16_t bits) { return float_of_bits(static_cast<std::uint32_t>(bits) << 16); }

// IEEE half precision.
inline float from_half(std::uint16_t bits) {
  const std::uint32_t sign = (bits & 0x8000U) << 16, exponent = (bits >> 10) & 0x1fU, fraction = bits & 0x3ffU;
  if (exponent == 0x1fU) return float_of_bits(sign | 0x7f800000U | fraction << 13);
  constexpr float smallest = 1.0F / 16777216.0F;  // 2^-24: a subnormal's unit
  if (exponent == 0) return (sign != 0 ? -1.0F : 1.0F) * static_cast<float>(fraction) * smallest;
  return float_of_bits(sign | (exponent + 112U) << 23 | fraction << 13);
}

// OCP's E4M3: no infinities, and one NaN of each sign.
inline float from_e4m3(std::uint8_t bits) {
  constexpr int bias = 7, fraction_bits = 3;
  const int exponent = (bits >> fraction_bits) & 0xf, fraction = bits & 0x7;
  if (exponent == 0xf && fraction == 0x7) return std::nanf("");
  const int lead = exponent == 0 ? 0 : 8;  // subnormals have no leading one
  const float size =
      std::ldexp(static_cast<float>(lead + fraction), (exponent == 0 ? 1 : exponent) - bias - fraction_bits);
  return (bits & 0x80U) != 0 ? -size : size;
}

}  // namespace llmcalc
