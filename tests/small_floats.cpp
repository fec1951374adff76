// What 8 and 16 bits of a device's results mean on the host.
#include "kernels/small_floats.hpp"

#include <cmath>
#include <cstdlib>
#include <string>

#include "catch.hpp"
#include "tests/support/rows.hpp"

using namespace llmcalc;

TEST_CASE("Small number formats read back") {
  // Every pattern, as PyTorch reads it.
  int seen = 0;
  for (const test::Row& row : test::rows("fp8_values.tsv")) {
    const auto bits = static_cast<std::uint8_t>(std::stoul(row.text("pattern"), nullptr, 16));
    const double want = std::strtod(row.text("float8_e4m3fn").c_str(), nullptr);
    const double got = static_cast<double>(from_e4m3(bits));
    INFO(row.text("pattern"));
    CHECK((std::isnan(want) ? std::isnan(got) : got == want && std::signbit(got) == std::signbit(want)));
    ++seen;
  }
  CHECK(seen == 256);
  // IEEE 754: 1, -2, the largest, the smallest subnormal, infinity, NaN.
  CHECK(from_half(0x3c00) == 1.0F);
  CHECK(from_half(0xc000) == -2.0F);
  CHECK(std::signbit(from_half(0x8000)));  // -0
  CHECK(std::signbit(from_bfloat16(0x8000)));
  CHECK(from_half(0x7bff) == 65504.0F);
  CHECK(from_half(0x0001) == 5.9604644775390625e-8F);
  CHECK(std::isinf(from_half(0x7c00)));
  CHECK(std::isnan(from_half(0x7e00)));
  CHECK(from_bfloat16(0xbf80) == -1.0F);
  CHECK(std::isnan(from_bfloat16(0xffff)));  // what outputs are poisoned with
}
