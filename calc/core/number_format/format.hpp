// The number formats of training and inference: how their bits are used and what they can hold.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/number_format/exact_value.hpp"

namespace llmcalc::number_format {

// What the patterns beyond the plain numbers mean, and what becomes of a value that is too large.
enum class Family : unsigned char {
  ieee,           // infinities and NaNs in the top exponent; too large: infinity
  one_nan,        // no infinity, all ones is NaN (fn); too large: the largest value, as PyTorch stores it
  unsigned_zero,  // no infinity, no -0: its pattern is the NaN (fnuz); too large: NaN
  finite,         // every pattern is a number; too large: the largest
  powers,         // e8m0: only powers of two, no zero, no sign, all ones is NaN
  integer,        // two's complement or unsigned; too large: the largest
  codebook,       // nf4: sixteen values
  block,          // elements that share a scale
};

struct Format {
  const char* name;        // "bf16"
  const char* torch_name;  // "bfloat16"; "" where PyTorch has none
  std::vector<const char*> other_names;
  Family family;
  int bits;                          // of the pattern (tf32: 19 are used, 32 are stored)
  int exponent_bits, fraction_bits;  // 0 where there are none
  int bias;
  bool is_signed;
  double bytes;      // of one value in memory, packed
  const char* note;  // what else one should know; ""

  // Block formats only.
  const char* element = nullptr;  // format of the elements
  const char* scale = nullptr;    // format of the scale
  int block = 0;                  // elements that share one scale

  // Bits of a value with its share of the scale.
  double bits_per_value() const;
};

struct Limits {
  double max = 0;  // largest finite value
  double min = 0;  // most negative one
  std::optional<double> min_normal, min_subnormal;
  std::optional<double> epsilon;  // from 1 to the next value
  std::optional<double> digits;   // decimal digits: significant bits x log10 2
};

const std::vector<Format>& formats();
// By any of its names, case aside; nullptr when unknown.
const Format* format_named(std::string_view name);
std::vector<std::string> format_names();  // the short ones

Limits limits_of(const Format& format);

// Smallest power of two that the significand of this format steps by (2^qmin): for formats with an exponent.
int least_exponent(const Format& format);

// nf4's values in rising order, as float32 holds them.
const std::vector<double>& nf4_values();

}  // namespace llmcalc::number_format
