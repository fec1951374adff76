// Number formats: limits, rounding of every kind of value, and every pattern of 16 and 8 bits.
#include "core/number_format/stored.hpp"

#include <cmath>
#include <cstdlib>
#include <iomanip>
#include <limits>
#include <map>
#include <sstream>

#include "tests/catch.hpp"
#include "tests/support/table.hpp"

using namespace llmcalc;
using namespace llmcalc::number_format;

namespace {

Stored stored(const char* format, const std::string& value) {
  return store(*format_named(format), *parse_exact(value));
}

std::uint64_t pattern_from(const std::string& hex) { return std::strtoull(hex.c_str(), nullptr, 16); }

const std::vector<std::string> torch_formats = {"float32",         "bfloat16",    "float16",         "float8_e4m3fn",
                                                "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu"};

bool is_nan_pattern(const Format& format, std::uint64_t pattern) { return decode(format, pattern).nan; }

std::string hexadecimal(std::uint64_t pattern, std::size_t digits) {
  std::ostringstream text;
  text << std::hex << std::setfill('0') << std::setw(static_cast<int>(digits)) << pattern;
  return text.str();
}

double number_of(const Stored& s) {
  if (s.nan) return std::nan("");
  return std::copysign(s.infinite ? std::numeric_limits<double>::infinity() : s.value(), s.negative ? -1.0 : 1.0);
}

bool same(double a, double b) { return std::isnan(a) ? std::isnan(b) : a == b && std::signbit(a) == std::signbit(b); }

// In the last digit a pattern that is no number could become another one of these.
std::string with_another_first_digit(const std::string& cell) {
  std::string changed = cell;
  const std::size_t prefix = cell.find("0x");
  char& digit = changed[cell.find_first_of("0123456789abcdef", prefix == std::string::npos ? 0 : prefix + 2)];
  digit = digit == 'f' ? '0' : digit == '9' ? 'a' : static_cast<char>(digit + 1);
  return changed;
}

// The finite values of a small format, with the lowest pattern of each, in rising order.
std::map<double, std::uint64_t> values_of(const Format& format) {
  std::map<double, std::uint64_t> values;
  for (std::uint64_t pattern = 0; pattern < std::uint64_t{1} << format.bits; ++pattern) {
    const Stored s = decode(format, pattern);
    if (s.is_finite()) values.emplace(s.value(), pattern);
  }
  return values;
}

// A double between two neighbours a format with fewer bits has; exact, as both have few bits.
double between(double a, double b) { return a + (b - a) / 2; }

}  // namespace

TEST_CASE("values are stored with the bits that PyTorch stores") {
  const auto compare = [](const test::Row& row, test::Comparison& comparison) {
    for (const std::string& name : torch_formats) {
      const Format& format = *format_named(name);
      const Stored s = store(format, *parse_exact(row.text("value")));
      // Formats have many patterns that are no number; any of them is as good.
      const bool both_nan = s.nan && is_nan_pattern(format, pattern_from(row.text(name)));
      comparison.equal(name, both_nan ? row.text(name) : hexadecimal(s.pattern, row.text(name).size()));
    }
  };
  test::check_table({"stored_values.tsv", {"value"}, compare, 169, with_another_first_digit});
}

TEST_CASE("every pattern of the 8-bit formats means what PyTorch says") {
  const auto compare = [](const test::Row& row, test::Comparison& comparison) {
    for (const std::string& name : torch_formats) {
      if (name.find("float8") == std::string::npos) continue;
      const Stored s = decode(*format_named(name), pattern_from(row.text("pattern")));
      const double wanted = std::strtod(row.text(name).c_str(), nullptr);
      comparison.equal(name, same(number_of(s), wanted) ? row.text(name) : std::to_string(number_of(s)));
    }
  };
  test::check_table({"fp8_values.tsv", {"pattern"}, compare, 256, with_another_first_digit});
}

TEST_CASE("every value a small format has is stored as itself") {
  int patterns = 0;
  for (const Format& format : formats()) {
    if (format.bits > 16 || format.family == Family::block) continue;
    for (std::uint64_t pattern = 0; pattern < std::uint64_t{1} << format.bits; ++pattern) {
      const Stored read = decode(format, pattern);
      if (!read.is_finite()) continue;
      const Stored again = store(format, exact(read.magnitude, read.negative));
      if (again.pattern != pattern || again.outcome != Outcome::exact) {
        INFO(format.name << ", pattern " << pattern << ", stored as " << again.pattern);
        CHECK(again.pattern == pattern);
        CHECK(again.outcome == Outcome::exact);
      }
      ++patterns;
    }
  }
  CHECK(patterns > 2 * 63'000);  // fp16 and bf16 alone have 63,488 and 65,280 finite ones
}

// Between two neighbours lies a middle: what is closer to one of them becomes that one, the middle itself the one whose
// last bit is 0. Holds for every pair of neighbours of every small format; independent of how rounding is computed.
TEST_CASE("whatever lies between two neighbours becomes the nearer one, the middle the even one") {
  for (const Format& format : formats()) {
    const bool floating = format.family != Family::block && format.family != Family::codebook &&
                          format.family != Family::integer && format.family != Family::powers;
    if (format.bits > 16 || !floating) continue;
    const std::map<double, std::uint64_t> values = values_of(format);
    int wrong = 0;
    for (auto low = values.begin(), high = std::next(low); high != values.end(); ++low, ++high) {
      const double middle = between(low->first, high->first);
      const auto result = [&](double x) { return store(format, exact(x)).value(); };
      const bool low_is_even = low->second % 2 == 0;
      wrong += result(middle) != (low_is_even ? low->first : high->first);
      wrong += result(std::nextafter(middle, low->first)) != low->first;
      wrong += result(std::nextafter(middle, high->first)) != high->first;
    }
    INFO(format.name);
    CHECK(wrong == 0);
  }
}

TEST_CASE("the textbook values") {
  CHECK(stored("fp16", "65504").outcome == Outcome::exact);
  CHECK(stored("fp16", "65519.999").value() == 65504);
  CHECK(stored("fp16", "65520").infinite);  // the middle to 2^16, which is even
  CHECK(stored("fp16", "65520").outcome == Outcome::overflow);
  CHECK(stored("fp16", "1e-8").outcome == Outcome::underflow);
  CHECK(stored("bf16", "1e-8").outcome == Outcome::rounded);
  CHECK(stored("bf16", "70000").value() == 70144);
  CHECK(stored("bf16", "3.3895e38").value() == 3.3895313892515355e38);  // the largest
  CHECK(stored("bf16", "3.4e38").infinite);
  CHECK(stored("fp16", "0.1").pattern == 0x2e66);
  CHECK(stored("fp16", "6e-8").subnormal);
  CHECK(stored("fp8_e4m3fn", "1000").value() == 448);  // no infinity: PyTorch keeps the largest
  CHECK(stored("fp8_e4m3fn", "1000").outcome == Outcome::saturated);
  CHECK(stored("fp8_e4m3fnuz", "1000").nan);
  CHECK(stored("fp4_e2m1", "2.5").value() == 2);  // the middle of 2 and 3; 2 is even (0b100)
  CHECK(stored("fp4_e2m1", "5").value() == 4);
  CHECK(stored("int8", "2.5").value() == 2);
  CHECK(stored("int8", "-200").value() == -128);
  CHECK(stored("int8", "-200").pattern == 0x80);
  CHECK(stored("int4", "-3.5").value() == -4);
  CHECK(stored("uint8", "-1").value() == 0);
  CHECK(stored("nf4", "0.34").value() == 0.33791524171829224);
  CHECK(stored("nf4", "-2").outcome == Outcome::saturated);
  CHECK(stored("fp64", "0.1").pattern == 0x3fb999999999999aU);
  CHECK(stored("fp32", "16777217").value() == 16777216);  // 2^24 + 1: a tie
  CHECK(stored("fp64", "1e400").infinite);
  CHECK(stored("fp64", "4e-324").subnormal);
  CHECK(stored("fp16", "inf").outcome == Outcome::exact);
  CHECK(stored("fp16", "nan").nan);
  CHECK(stored("fp16", "-0").negative);
}

TEST_CASE("decimals are rounded once, from all their digits") {
  // A hair above the middle of 1 and the next fp32: the nearest double is the middle itself, from where it would go
  // down.
  CHECK(stored("fp32", "1.000000059604644775390625").pattern == 0x3f800000U);
  CHECK(stored("fp32", "1.0000000596046447753906250000000000000000001").pattern == 0x3f800001U);
}

TEST_CASE("doubles are read as the C library reads them") {
  for (const char* text : {"0.1", "1e23", "123456789.123456789", "2.2250738585072011e-308", "1.7976931348623157e308",
                           "8.41e21", "9007199254740993", "5e-324", "3.3895e38"}) {
    INFO(text);
    CHECK(stored("fp64", text).value() == std::strtod(text, nullptr));
  }
}

TEST_CASE("block formats: bits with the scale, and the scale chosen from the largest value") {
  CHECK(format_named("mxfp8")->bits_per_value() == 8 + 8.0 / 32);
  CHECK(format_named("mxfp4")->bits_per_value() == 4.25);
  CHECK(format_named("nvfp4")->bits_per_value() == 4.5);
  // MX: 2^(floor(log2 70000) - 2) = 2^14; 70000 / 2^14 = 4.27, of which fp4 makes 4.
  const Stored mx = stored("mxfp4", "70000");
  CHECK(mx.scale->as_double() == 16384);
  CHECK(mx.value() == 65536);
  // NVFP4: the scale is 12 / 6 = 2, so 12 is exact; past 6 * 448 it saturates.
  CHECK(stored("nvfp4", "12").outcome == Outcome::exact);
  CHECK(stored("nvfp4", "70000").value() == 2688);
  CHECK(stored("nvfp4", "70000").outcome == Outcome::saturated);
}

TEST_CASE("limits of the formats") {
  const auto limits = [](const char* name) { return limits_of(*format_named(name)); };
  // The published ones: IEEE 754, the 8-bit formats of OCP, the 6- and 4-bit ones of its MX specification.
  CHECK(limits("fp16").max == 65504);
  CHECK(*limits("fp16").min_normal == std::ldexp(1, -14));
  CHECK(*limits("fp16").min_subnormal == std::ldexp(1, -24));
  CHECK(limits("bf16").max == 3.3895313892515355e38);
  CHECK(*limits("bf16").epsilon == 0.0078125);
  CHECK(limits("fp32").max == 3.4028234663852886e38);
  CHECK(limits("fp64").max == 1.7976931348623157e308);
  CHECK(limits("fp8_e4m3fn").max == 448);
  CHECK(limits("fp8_e4m3fnuz").max == 240);
  CHECK(limits("fp8_e5m2").max == 57344);
  CHECK(*limits("fp8_e5m2").min_subnormal == std::ldexp(1, -16));
  CHECK(limits("fp8_e8m0").max == std::ldexp(1, 127));
  CHECK(limits("fp6_e2m3").max == 7.5);
  CHECK(limits("fp6_e3m2").max == 28);
  CHECK(limits("fp4_e2m1").max == 6);
  CHECK(limits("int8").min == -128);
  CHECK(limits("int4").max == 7);
}

TEST_CASE("names of formats, and texts that are no numbers") {
  CHECK(format_named("torch.bfloat16") == format_named("BF16"));
  CHECK(format_named("half") == format_named("fp16"));
  CHECK(format_named("fp9") == nullptr);
  CHECK(format_named("") == nullptr);
  for (const char* text : {"", "-", "abc", "1e", "1.2.3", "0x10", "1e6000", "1 2", "e5", "--1", "_1", "."})
    CHECK(!parse_exact(text));
  CHECK(!parse_exact(std::string(2000, '1')));
}
