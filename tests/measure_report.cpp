// The writers of measurements, on ones made by hand: page, JSON, profile, and a check against an estimate.
#include "report/measure.hpp"

#include "read/device.hpp"
#include "read/yaml.hpp"
#include "report/check.hpp"
#include "tests/catch.hpp"
#include "tests/support/json_runs.hpp"
#include "tests/support/runs.hpp"

using namespace llmcalc;
using Catch::Matchers::ContainsSubstring;
using test::flat;

namespace {

MeasuredWorkload workload(const char* name, const char* dtype, double median) {
  MeasuredWorkload w;
  w.workload = name;
  w.dtype = dtype;
  w.verified = true;
  w.samples = 7;
  w.minimum = w.p5 = w.median = w.p95 = Seconds(median);
  w.stop = "settled";
  return w;
}

report::Measured everything() {
  report::Measured m;
  m.device = "Card \"X\"";
  m.memory = Bytes(1000000);
  m.method = {{"clock", "steady"}};
  MeasuredWorkload product = workload("matmul", "bf16", 0.5);
  product.dimensions = {{"m", 2}, {"n", 3}, {"k", 4}, {"batch", 5}};
  product.flops = Flops(240);  // 2 · 2 · 3 · 4 · 5
  product.layout = "NT";
  product.variant = "openblas";
  product.span = "burst";
  product.stop = "0.5 s";
  product.cpu_median = Seconds(0.25);
  MeasuredWorkload sustained = product;
  sustained.span = "sustained";
  sustained.stop = "after 3 s";
  sustained.median = Seconds(1);
  MeasuredWorkload other = sustained;  // another product: not what became of the burst
  other.dimensions["m"] = 20;
  MeasuredWorkload turned = sustained;
  turned.layout = "TN";
  MeasuredWorkload coded = sustained;
  coded.variant = "vectorised";
  MeasuredWorkload typed = sustained;
  typed.dtype = "fp32";
  MeasuredWorkload sweep = workload("intensity", "fp32", 0.1);
  sweep.dimensions = {{"rounds", 4}};
  sweep.flops = Flops(800);
  sweep.bytes = Bytes(100);
  sweep.state = "cold";
  MeasuredWorkload link = workload("host_to_device", "uint8", 0.25);
  link.bytes = Bytes(2000000000);  // read and written
  MeasuredWorkload nothing = workload("launch", "none", 0);
  MeasuredWorkload still = workload("sleep", "none", 1);  // moves and computes nothing
  still.noisy = true;
  MeasuredWorkload wrong = workload("copy", "fp32", 1);
  wrong.bytes = Bytes(4000000000);
  wrong.verified = false;
  wrong.problem = "element 3 differs";
  MeasuredWorkload step = workload("op", "bf16", 0.001);
  step.op = "addmm";
  step.operation = "layers.mlp.c_fc addmm forward";
  step.times = 12;
  step.portion = 4;
  m.workloads = {product, sustained, other, turned, coded, typed, sweep, link, nothing, still, wrong, step};
  m.transfers = {{"host_to_device", "pinned", Seconds(2e-6), BytesPerSecond(50e9), 5, 0.01},
                 {"device_to_host", "", Seconds(3e-6), BytesPerSecond(25e9), 5, 0.02}};
  m.left_out = {"a: no time", "b: no time", "c: no time", "d: no time", "e: no time", "f"};
  m.expected = {"usual is 80 %"};
  return m;
}

}  // namespace

TEST_CASE("measurements on a page") {
  const std::string text = report::measure_text(everything(), false, false), one = flat(text);
  INFO(text);
  CHECK_THAT(one, ContainsSubstring("matmul bf16 openblas NT burst 5 x 2 x 3 x 4"));
  CHECK_THAT(one, ContainsSubstring("480 FLOP/s"));                    // 240 / 0.5 s
  CHECK_THAT(one, ContainsSubstring("intensity fp32 8 FLOP/B cold"));  // 800 / 100
  CHECK_THAT(one, ContainsSubstring("4 GB/s payload"));                // 1 GB in 0.25 s
  CHECK_THAT(one, ContainsSubstring("FAILED: element 3 differs"));
  CHECK_THAT(one, ContainsSubstring("layers.mlp.c_fc addmm forward"));
  // The sustained run of the same product alone, half as fast.
  CHECK_THAT(one, ContainsSubstring("matmul bf16: 480 FLOP/s in 0.5 s, 240 FLOP/s after 3 s: 50.0 % of the burst"));
  CHECK(one.find("of the burst", one.find("of the burst") + 1) == std::string::npos);
  CHECK_THAT(one, ContainsSubstring("host_to_device pinned: 2 us + payload / 50 GB/s (5 sizes"));
  CHECK_THAT(one, ContainsSubstring("device_to_host: 3 us + payload / 25 GB/s"));
  CHECK_THAT(one, ContainsSubstring("usual is 80 %"));
  CHECK_THAT(one, ContainsSubstring("1 of 12 never settled"));
  CHECK_THAT(one, ContainsSubstring("not measured, no time: a, b, c, d, and 1 more"));
  CHECK_THAT(report::measure_text(everything(), true, false), ContainsSubstring("# Card \"X\"\n"));
  report::Measured step_alone = everything();
  step_alone.workloads = {step_alone.workloads.back()};
  CHECK(report::measure_text(step_alone, false, false).find("matmul") == std::string::npos);
}

TEST_CASE("measurements as JSON hold to the schema, with or without transfers") {
  report::Measured m = everything();
  for (const bool transfers : {true, false}) {
    if (!transfers) m.transfers.clear();
    const auto json = nlohmann::json::parse(report::measure_json(m).dump());
    INFO(json.dump(1));
    CHECK(test::schema_faults(test::published_schema("measure"), json) == std::vector<std::string>{});
    CHECK(json.contains("transfers") == transfers);
    CHECK(json["workloads"][0]["cpu_median"] == 0.25);
    CHECK(json["workloads"][11]["times"] == 12);
    CHECK(json["workloads"][11]["portion"] == 4);
    CHECK(!json["workloads"][8].contains("bytes"));
    CHECK(json["workloads"][10]["problem"] == "element 3 differs");
  }
  CHECK(nlohmann::json::parse(report::measure_json(everything()).dump())["transfers"][1] ==
        nlohmann::json({{"workload", "device_to_host"},
                        {"latency", 3e-6},
                        {"bytes_per_second", 25e9},
                        {"sizes", 5},
                        {"misfit", 0.02}}));
}

TEST_CASE("a profile of measurements reads back as what was measured") {
  report::Measured m = everything();
  m.compute_capability = 9.0;
  m.cache = Bytes(4096);
  m.bandwidth = BytesPerSecond(2e12);
  m.peak = {{"bf16", FlopsPerSecond(1e14)}};
  Diagnostics diagnostics;
  const Device device = read_device(read_yaml(report::measured_profile(m), "m.yaml"), "m.yaml", diagnostics);
  diagnostics.throw_if_errors();
  CHECK(device.name == "Card \"X\"");
  REQUIRE(device.measured.size() == m.workloads.size());
  for (std::size_t i = 0; i < m.workloads.size(); ++i) {
    INFO(i);
    CHECK(device.measured[i].dimensions == m.workloads[i].dimensions);
    CHECK(device.measured[i].median == m.workloads[i].median);
    CHECK(device.measured[i].cpu_median == m.workloads[i].cpu_median);
    CHECK(device.measured[i].problem == m.workloads[i].problem);
    CHECK(device.measured[i].portion == m.workloads[i].portion);
    CHECK(device.measured[i].bytes == m.workloads[i].bytes);
  }
  REQUIRE(device.transfers.size() == 2);
  CHECK(device.transfers[0].variant == "pinned");
  CHECK(device.transfers[1].variant.empty());
  CHECK(device.memory_bandwidth == BytesPerSecond(2e12));
  CHECK(report::measured_profile(everything()).find("l2:") == std::string::npos);  // a cache that is not known
}

TEST_CASE("a check: what was measured, what was not and why, and errors only where there are some") {
  CheckReport check;
  check.model = "Tiny";
  check.device = "Card";
  check.band = 0.25;
  check.operations = {{"mm", 2, Seconds(1), Seconds(1.5), 1.5, "compute", false, "the shape is small"},
                      {"add", 1, Seconds(1), Seconds(1), 1, "memory", true, ""},
                      {"softmax", 1, Seconds(0.5), {}, 0, "memory", true, "not measured"}};
  check.covered = 0.3;
  auto json = nlohmann::json::parse(report::check_json(check).dump());
  CHECK(json["operations"][0]["ratio"] == 1.5);
  CHECK(!json["operations"][1].contains("reason"));
  CHECK(!json["operations"][2].contains("ratio"));
  CHECK(!json["operations"][2].contains("measured"));
  CHECK(!json.contains("error"));
  const std::string text = report::check_text(check, false, report::Style(true));
  CHECK_THAT(flat(text), ContainsSubstring("from 0.80 to 1.25 it counts as agreement"));  // 1 / 1.25
  CHECK(text.find("Error:") == std::string::npos);
  CHECK_THAT(text, ContainsSubstring("\x1b[31mCovered: 30.0 %"));  // too little: red
  check.median_error = 0.1;
  check.p95_error = 0.4;
  json = nlohmann::json::parse(report::check_json(check).dump());
  CHECK(json["error"] == nlohmann::json({{"median", 0.1}, {"p95", 0.4}}));
  CHECK_THAT(report::check_text(check, true, false), ContainsSubstring("Error: median 10.0 %, 95th percentile 40.0 %"));
  CHECK_THAT(report::check_text(check, true, false), ContainsSubstring("# Tiny: one step on Card"));
  CHECK(test::schema_faults(test::published_schema("check"), json) == std::vector<std::string>{});
}

TEST_CASE("a measured attention kernel: heads of all sequences, length, size of a head, and FLOP/s") {
  MeasuredWorkload w = workload("attention", "bf16", 0.5);
  w.dimensions = {{"batch", 2}, {"heads", 3}, {"kv_heads", 1}, {"length", 5}, {"qk_size", 7}};
  w.flops = Flops(420);
  const std::string row = report::csv_table(report::measure_table({w}));
  CHECK_THAT(row, ContainsSubstring("\nattention bf16,,6 x 5 x 7,,0.5,"));
  CHECK_THAT(row, ContainsSubstring("840 FLOP/s"));
}
