// Peaks re-derived from units, clock and rate class, and what is said about those that disagree.
#include "core/peaks.hpp"

#include "core/rate_classes.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr double tera = 1e12, mega = 1e6;

// An H100 SXM as its profile states it; tests change one thing.
Device h100() {
  Device device;
  device.source = "h100.yaml";
  device.name = "NVIDIA H100 SXM5 80GB";
  device.units = ComputeUnits{132, Hertz(1830 * mega), Hertz(1980 * mega), "GH100"};
  device.memory_capacity = Bytes(Count{80} << 30);
  device.memory_bandwidth = BytesPerSecond(3.35e12);
  device.peak = {{"bf16", FlopsPerSecond(989.4 * tera)}, {"fp32", FlopsPerSecond(66.9 * tera)}};
  return device;
}

std::vector<Diagnostic> problems(const Device& device) {
  Diagnostics diagnostics;
  validate_peaks(device, diagnostics);
  return diagnostics.all();
}

}  // namespace

TEST_CASE("a peak is units x clock x operations per clock") {
  // 132 SMs x 1830 MHz x 4096 = 989.43 TFLOP/s; vector units: 132 x 1980 MHz x 256 = 66.91.
  CHECK(derived_peak(h100(), "bf16")->value() == Approx(989.43e12).epsilon(1e-4));
  CHECK(derived_peak(h100(), "fp32")->value() == Approx(66.91e12).epsilon(1e-4));
  CHECK_FALSE(derived_peak(h100(), "fp4").has_value());  // Hopper has none

  Device one_clock = h100();
  one_clock.units->vector_clock.reset();
  CHECK(derived_peak(one_clock, "fp32")->value() == Approx(61.84e12).epsilon(1e-4));

  Device no_units = h100();
  no_units.units.reset();
  CHECK_FALSE(derived_peak(no_units, "bf16").has_value());
}

TEST_CASE("boards that share a capability do not share a rate class") {
  // An RTX 4090 accumulates in fp32 at half the rate of an RTX 6000 Ada; L40 is half of L40S.
  CHECK(operations_per_clock("AD10x_pro", "bf16") == 1024);
  CHECK(operations_per_clock("AD10x_half", "bf16") == 512);
  CHECK(operations_per_clock("AD10x_half", "fp16_acc16") == 1024);
  CHECK(operations_per_clock("L40", "bf16") == 512);
  CHECK_FALSE(operations_per_clock("GV100", "bf16").has_value());
  CHECK_FALSE(operations_per_clock("no such class", "bf16").has_value());
}

TEST_CASE("a device whose figures agree is good") { CHECK(problems(h100()).empty()); }

TEST_CASE("a stated peak may be off by 2.5 %, not more") {
  Device device = h100();
  device.peak["bf16"] = FlopsPerSecond(989.43 * 1.024 * tera);
  CHECK(problems(device).empty());
  device.peak["bf16"] = FlopsPerSecond(989.43 * 1.03 * tera);
  const std::vector<Diagnostic> found = problems(device);
  REQUIRE(found.size() == 1);
  CHECK(found[0].severity == Severity::error);
  CHECK(found[0].place.key == "peak.bf16");
  CHECK_THAT(found[0].hint, ContainsSubstring("waived"));

  device.waived["bf16"] = "measured so";
  CHECK(problems(device).empty());
}

TEST_CASE("twice the derived peak is taken for a figure with sparsity") {
  Device device = h100();
  device.peak["bf16"] = FlopsPerSecond(1979 * tera);
  const std::vector<Diagnostic> found = problems(device);
  REQUIRE_FALSE(found.empty());
  CHECK(found[0].severity == Severity::error);
  CHECK_THAT(found[0].message, ContainsSubstring("sparsity"));
  CHECK_THAT(found[0].hint, ContainsSubstring("bf16_sparse"));
}

TEST_CASE("a ratio between formats that no device has is an error without units too") {
  Device device = h100();
  device.units.reset();
  device.peak["fp8"] = FlopsPerSecond(3958 * tera);  // the sparse figure: four times bf16
  Diagnostics diagnostics;
  validate_peaks(device, diagnostics);
  CHECK(diagnostics.has_errors());
  device.waived["fp8"] = "an accelerator of its own kind";
  Diagnostics waived;
  validate_peaks(device, waived);
  CHECK_FALSE(waived.has_errors());
}

TEST_CASE("what cannot be derived is a warning") {
  Device device = h100();
  device.units.reset();
  REQUIRE(problems(device).size() == 1);
  CHECK(problems(device)[0].severity == Severity::warning);
  CHECK_THAT(problems(device)[0].message, ContainsSubstring("not derivable"));

  device = h100();
  device.peak["fp4"] = FlopsPerSecond(1 * tera);
  REQUIRE(problems(device).size() == 1);
  CHECK_THAT(problems(device)[0].message, ContainsSubstring("fp4 is not derivable"));
}

TEST_CASE("an unknown rate class is an error with the nearest known one") {
  Device device = h100();
  device.units->rate_class = "GH10";
  const std::vector<Diagnostic> found = problems(device);
  REQUIRE(found.size() == 1);
  CHECK_THAT(found[0].message, ContainsSubstring("GH10"));
  CHECK_THAT(found[0].hint, ContainsSubstring("GH100"));
}

TEST_CASE("a name shared between files is reported") {
  Device small = h100(), large = h100();
  large.source = "other.yaml";
  Diagnostics equal_memory;
  validate_names({small, large}, equal_memory);
  CHECK(equal_memory.has_errors());

  large.memory_capacity = Bytes(Count{94} << 30);
  Diagnostics told_apart;
  validate_names({small, large}, told_apart);
  CHECK_FALSE(told_apart.has_errors());
  REQUIRE(told_apart.all().size() == 1);
  CHECK_THAT(told_apart.all()[0].message, ContainsSubstring("h100.yaml") && ContainsSubstring("other.yaml"));

  large.name = "something else";
  small.aliases = {small.name};  // a name and an alias of one file are no pair, and a file given twice is one
  Diagnostics none;
  validate_names({small, large, large}, none);
  CHECK(none.all().empty());
}
