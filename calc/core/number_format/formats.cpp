// The table of formats. A new format is a row; sources stand in docs/reference/dtype.md.
#include <array>
#include <cmath>

#include "core/number_format/format.hpp"

namespace llmcalc::number_format {
namespace {

std::vector<Format> make_formats() {
  using F = Family;
  return {
      {"fp64", "float64", {"double", "binary64"}, F::ieee, 64, 11, 52, 1023, true, 8, ""},
      {"fp32", "float32", {"float", "single", "binary32"}, F::ieee, 32, 8, 23, 127, true, 4, ""},
      {"tf32", "", {}, F::ieee, 19, 8, 10, 127, true, 4, "how matrix units round fp32 inputs; in memory it is fp32"},
      {"fp16", "float16", {"half", "binary16"}, F::ieee, 16, 5, 10, 15, true, 2, "needs loss scaling in training"},
      {"bf16", "bfloat16", {}, F::ieee, 16, 8, 7, 127, true, 2, "the range of fp32, a third of its digits"},
      {"fp8_e4m3fn",
       "float8_e4m3fn",
       {"e4m3fn", "e4m3", "fp8_e4m3", "fp8"},
       F::one_nan,
       8,
       4,
       3,
       7,
       true,
       1,
       "no infinity; weights and activations"},
      {"fp8_e4m3fnuz",
       "float8_e4m3fnuz",
       {"e4m3fnuz"},
       F::unsigned_zero,
       8,
       4,
       3,
       8,
       true,
       1,
       "no infinity, no -0; MI300 and older"},
      {"fp8_e5m2", "float8_e5m2", {"e5m2"}, F::ieee, 8, 5, 2, 15, true, 1, "fp16 cut short; gradients"},
      {"fp8_e5m2fnuz",
       "float8_e5m2fnuz",
       {"e5m2fnuz"},
       F::unsigned_zero,
       8,
       5,
       2,
       16,
       true,
       1,
       "no infinity, no -0; MI300 and older"},
      {"fp8_e8m0",
       "float8_e8m0fnu",
       {"e8m0", "e8m0fnu"},
       F::powers,
       8,
       8,
       0,
       127,
       false,
       1,
       "powers of two, no sign, no zero; scales of MX blocks"},
      {"fp6_e2m3", "", {"e2m3", "e2m3fn"}, F::finite, 6, 2, 3, 1, true, 0.75, "element of MXFP6"},
      {"fp6_e3m2", "", {"e3m2", "e3m2fn"}, F::finite, 6, 3, 2, 3, true, 0.75, "element of MXFP6"},
      {"fp4_e2m1",
       "float4_e2m1fn_x2",
       {"fp4", "e2m1", "e2m1fn"},
       F::finite,
       4,
       2,
       1,
       1,
       true,
       0.5,
       "element of MXFP4 and NVFP4; PyTorch packs two into a byte"},
      {"int8", "int8", {"char"}, F::integer, 8, 0, 7, 0, true, 1, "quantised: rounded to the nearest, then clamped"},
      {"uint8", "uint8", {"byte"}, F::integer, 8, 0, 8, 0, false, 1, ""},
      {"int4", "", {}, F::integer, 4, 0, 3, 0, true, 0.5, "quantised: rounded to the nearest, then clamped"},
      {"nf4",
       "",
       {"normalfloat4"},
       F::codebook,
       4,
       0,
       0,
       0,
       true,
       0.5,
       "16 quantiles of a normal distribution in [-1, 1]; QLoRA scales blocks of 64 by their largest magnitude"},
      {"mxfp8", "", {"mxfp8_e4m3"}, F::block, 8, 4, 3, 7, true, 1, "", "fp8_e4m3fn", "fp8_e8m0", 32},
      {"mxfp8_e5m2", "", {}, F::block, 8, 5, 2, 15, true, 1, "", "fp8_e5m2", "fp8_e8m0", 32},
      {"mxfp6_e2m3", "", {"mxfp6"}, F::block, 6, 2, 3, 1, true, 0.75, "", "fp6_e2m3", "fp8_e8m0", 32},
      {"mxfp6_e3m2", "", {}, F::block, 6, 3, 2, 3, true, 0.75, "", "fp6_e3m2", "fp8_e8m0", 32},
      {"mxfp4", "", {}, F::block, 4, 2, 1, 1, true, 0.5, "", "fp4_e2m1", "fp8_e8m0", 32},
      {"nvfp4",
       "",
       {},
       F::block,
       4,
       2,
       1,
       1,
       true,
       0.5,
       "and one fp32 scale for the whole tensor",
       "fp4_e2m1",
       "fp8_e4m3fn",
       16},
  };
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c == '-' ? '_' : c; }

bool same_name(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (lower(a[i]) != lower(b[i])) return false;
  return true;
}

double power_of_two(int exponent) { return std::ldexp(1.0, exponent); }

// The largest significand of the largest exponent, as a fraction of that exponent's power: what is left of the top
// exponent when infinities and NaNs have been taken out.
Limits floating_limits(const Format& f) {
  const int top = (1 << f.exponent_bits) - 1 - f.bias;  // of the exponent field with all ones
  const double ulp = power_of_two(-f.fraction_bits);
  Limits limits;
  switch (f.family) {
    case Family::ieee: limits.max = (2 - ulp) * power_of_two(top - 1); break;
    case Family::one_nan: limits.max = (2 - 2 * ulp) * power_of_two(top); break;
    default: limits.max = (2 - ulp) * power_of_two(top); break;
  }
  limits.min = -limits.max;
  limits.min_normal = power_of_two(1 - f.bias);
  limits.min_subnormal = power_of_two(least_exponent(f));
  return limits;
}

}  // namespace

double Format::bits_per_value() const {
  if (family != Family::block) return bits;
  return bits + static_cast<double>(format_named(scale)->bits) / block;
}

const std::vector<Format>& formats() {
  static const std::vector<Format> all = make_formats();
  return all;
}

const Format* format_named(std::string_view name) {
  constexpr std::string_view prefix = "torch.";
  if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
  if (name.empty()) return nullptr;
  for (const Format& format : formats()) {
    if (same_name(name, format.name) || same_name(name, format.torch_name)) return &format;
    for (const char* other : format.other_names)
      if (same_name(name, other)) return &format;
  }
  return nullptr;
}

std::vector<std::string> format_names() {
  std::vector<std::string> names;
  for (const Format& format : formats()) names.emplace_back(format.name);
  return names;
}

int least_exponent(const Format& format) { return 1 - format.bias - format.fraction_bits; }

Limits limits_of(const Format& f) {
  Limits limits;
  switch (f.family) {
    case Family::powers:
      limits.max = power_of_two((1 << f.exponent_bits) - 2 - f.bias);
      limits.min = power_of_two(-f.bias);
      limits.min_normal = limits.min;
      break;
    case Family::integer:
      limits.max = power_of_two(f.fraction_bits) - 1;
      limits.min = f.is_signed ? -power_of_two(f.fraction_bits) : 0;
      return limits;
    case Family::codebook:
      limits.max = nf4_values().back();
      limits.min = nf4_values().front();
      return limits;
    case Family::block: {
      const Limits element = limits_of(*format_named(f.element)), scale = limits_of(*format_named(f.scale));
      limits.max = element.max * scale.max;
      limits.min = -limits.max;
      break;
    }
    default: limits = floating_limits(f); break;
  }
  limits.epsilon = power_of_two(-f.fraction_bits);
  limits.digits = (f.fraction_bits + 1) * std::log10(2.0);
  return limits;
}

const std::vector<double>& nf4_values() {
  // Appendix E of the QLoRA paper (arXiv:2305.14314), rounded to float32 as its library stores them.
  static const std::vector<double> values = {
      -1.0,
      -0.6961928009986877,
      -0.5250730514526367,
      -0.39491748809814453,
      -0.28444138169288635,
      -0.18477343022823334,
      -0.09105003625154495,
      0.0,
      0.07958029955625534,
      0.16093020141124725,
      0.24611230194568634,
      0.33791524171829224,
      0.44070982933044434,
      0.5626170039176941,
      0.7229568362236023,
      1.0,
  };
  return values;
}

}  // namespace llmcalc::number_format
