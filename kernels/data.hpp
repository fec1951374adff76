// The values kernels work on: uniform in [-1, 1), with all bits of the mantissa in use, from the place alone, so that a
// check can make them again. (Zeros make a power-limited chip faster: 894 against 788 TFLOP/s on one H200.)
#pragma once

#include <cstdint>

namespace llmcalc {

// A finaliser of MurmurHash3 (public domain): every bit of the place reaches every bit of the result.
inline std::uint32_t scrambled(std::uint32_t x) {
  x ^= x >> 16;
  x *= 0x85ebca6bU;
  x ^= x >> 13;
  x *= 0xc2b2ae35U;
  return x ^ (x >> 16);
}

// In [-1, 1).
inline float random_value(std::uint64_t place) {
  const std::uint32_t bits =
      scrambled(static_cast<std::uint32_t>(place) + 0x9e3779b9U * static_cast<std::uint32_t>(place >> 32));
  const std::int32_t whole = static_cast<std::int32_t>(bits) / 256;  // 24 bits, which a float holds exactly
  return static_cast<float>(whole) * (1.0F / 8388608.0F);
}

}  // namespace llmcalc
