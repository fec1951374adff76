// The built-in devices: figures as their sources state them, names as drivers report them.
#include <algorithm>
#include <set>

#include "core/peaks.hpp"
#include "read/device.hpp"
#include "read/load.hpp"
#include "tests/catch.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/table.hpp"

using namespace llmcalc;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr double tera = 1e12, giga = 1e9;

Device device(const std::string& name) {
  Diagnostics diagnostics;
  Device found = load_device(name, diagnostics);
  CHECK_FALSE(diagnostics.has_errors());
  return found;
}

std::string refusal(const std::string& name) {
  return test::refusal([&] { device(name); });
}

}  // namespace

TEST_CASE("stated peaks, bandwidths and ridge points") {
  const auto compare = [](const test::Row& row, test::Comparison& comparison) {
    const Device found = built_in_device(row.text("device"));
    const auto peak = found.peak.find(row.text("dtype"));
    REQUIRE(peak != found.peak.end());
    REQUIRE(found.memory_bandwidth.has_value());
    comparison.near("peak", peak->second.value() / tera, row.number("peak") * 1e-9);
    comparison.near("bandwidth", found.memory_bandwidth->value() / giga, row.number("bandwidth") * 1e-9);
    constexpr double half_of_the_last_digit = 0.005 + 1e-9;
    comparison.near("ridge", (peak->second / *found.memory_bandwidth).value(), half_of_the_last_digit);
  };
  test::check_table({"devices.tsv", {"device", "dtype"}, compare, 328});
}

TEST_CASE("the card of the worked examples has its ridge at 100 FLOP/B") {
  const Device card = built_in_device("hypothetical");
  CHECK((card.peak.at("bf16") / *card.memory_bandwidth).value() == Approx(100));  // 100 TFLOP/s / 1 TB/s
}

TEST_CASE("every built-in device is valid, with sources, and its peaks agree with its units") {
  std::vector<Device> all;
  int derived = 0;
  for (const std::string& id : built_in_device_ids()) {
    INFO(id);
    const Device found = built_in_device(id);
    Diagnostics diagnostics;
    validate_peaks(found, diagnostics);
    for (const Diagnostic& diagnostic : diagnostics.all()) {
      INFO(to_string(diagnostic));
      CHECK(diagnostic.severity == Severity::warning);
      CHECK_THAT(diagnostic.message, ContainsSubstring("not derivable"));  // the only thing there may be to say
    }
    for (const PeakCheck& check : check_peaks(found)) derived += check.derived.has_value();
    all.push_back(found);
  }
  CHECK(all.size() >= 114);
  CHECK(derived >= 676);  // so many figures are checked against units and clock

  Diagnostics names;
  validate_names(all, names);
  CHECK_FALSE(names.has_errors());
  CHECK(names.all().size() == 2);  // RTX 3080 of 10 and 12 GB, Orin of 32 and 64 GB
}

TEST_CASE("names as drivers report them mean the right device, or are refused with all they could mean") {
  const auto compare = [](const test::Row& row, test::Comparison& comparison) {
    const std::string message = refusal(row.text("name"));
    if (message == "accepted") return comparison.equal("devices", device(row.text("name")).id);
    const std::vector<std::string> ids = test::split(row.text("devices"), ',');
    if (ids.size() == 1) return comparison.equal("devices", "refused: " + message);
    std::string named;  // those of the row that the refusal names
    for (const std::string& id : ids)
      if (message.find(id) != std::string::npos) named += (named.empty() ? "" : ",") + id;
    comparison.equal("devices", named);
  };
  test::check_table({"device_names.tsv", {"name"}, compare, 200});
}

TEST_CASE("a name that only resembles a known one is refused") {
  // Each of these is taken for the device in its comment by some table of peaks that matches parts of names.
  const char* names[] = {
      "NVIDIA RTX A1000",            // A100
      "NVIDIA L400",                 // L40
      "NVIDIA GeForce RTX 4090 Ti",  // RTX 4090
      "NVIDIA H2000",                // H200, H20
      "Tesla T40",                   // T4
      "NVIDIA A100",                 // which of four?
      "NVIDIA H100",                 // which of three?
  };
  for (const char* name : names) {
    INFO(name);
    CHECK(refusal(name) != "accepted");
  }
  CHECK_THAT(refusal("h100-sxn"), ContainsSubstring("h100-sxm"));
}

TEST_CASE("a fit is judged on what the driver shows") {
  const Device t4 = built_in_device("t4");
  CHECK(t4.memory_capacity == Bytes(Count{16} << 30));
  CHECK(t4.usable_memory() == Bytes(Count{15104} << 20));  // ECC takes a sixteenth, the driver the rest
  const Device no_visible = built_in_device("v100s");
  CHECK(no_visible.usable_memory() == no_visible.memory_capacity);
}

TEST_CASE("devices without a format do not state a peak for it") {
  for (const char* id : {"v100-sxm-16gb", "v100-sxm-32gb", "t4", "rtx-2080-ti", "p100-sxm"}) {
    CHECK(built_in_device(id).peak.count("bf16") == 0);
  }
  CHECK(built_in_device("a100-sxm-80gb").peak.count("fp8") == 0);
}
