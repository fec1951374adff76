// Names of units.
#include "core/dimension.hpp"

namespace llmcalc {
namespace {

constexpr const char* names[Dimension::base_count] = {"FLOP", "B", "token", "parameter", "$", "J", "s"};

std::string superscript(int exponent) {
  constexpr const char* digits[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
  std::string text;
  for (char digit : std::to_string(exponent)) text += digits[digit - '0'];
  return text;
}

// The product of the base units whose exponent has the given sign; `factors` counts them.
std::string product(Dimension dimension, int sign, int& factors) {
  std::string text;
  factors = 0;
  for (std::size_t i = 0; i < Dimension::base_count; ++i) {
    const int exponent = sign * dimension.exponents[i];
    if (exponent <= 0) continue;
    if (factors++ > 0) text += "·";
    text += names[i];
    if (exponent > 1) text += superscript(exponent);
  }
  return text;
}

}  // namespace

std::string to_string(Dimension dimension) {
  if (dimension == dim::watt) return "W";
  int above = 0;
  int below = 0;
  std::string numerator = product(dimension, 1, above);
  const std::string denominator = product(dimension, -1, below);
  if (below == 0) return numerator;
  return (above == 0 ? "1" : numerator) + "/" + (below == 1 ? denominator : "(" + denominator + ")");
}

std::string in_words(Dimension dimension) {
  if (dimension.is_none()) return "a number without a unit";
  if (dimension == dim::token) return "a number of tokens";
  if (dimension == dim::parameter) return "a number of parameters";
  if (dimension == dim::flop) return "an amount of work in FLOP";
  if (dimension == dim::byte) return "a size in bytes (B, MB, GiB, ...)";
  if (dimension == dim::second) return "a time (s, h, days)";
  if (dimension == dim::dollar) return "an amount of money in $";
  if (dimension == dim::joule) return "an energy (J, kWh)";
  if (dimension == dim::flops_per_second) return "a compute rate (FLOP/s, TFLOP/s)";
  if (dimension == dim::bytes_per_second) return "a bandwidth (B/s, GB/s, TB/s)";
  if (dimension == dim::watt) return "a power (W, kW)";
  if (dimension == dim::dollar / dim::second) return "a price per time ($/h)";
  return "a value in " + to_string(dimension);
}

}  // namespace llmcalc
