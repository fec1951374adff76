// Device profiles: every key, and an error at its place for everything that is wrong.
#include "read/device.hpp"

#include "read/yaml.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;
using Catch::Matchers::ContainsSubstring;

namespace {

const std::string start = "schema: llmcalc.device/1\nname: x\n";
const std::string memory = "memory: {capacity: 80 GB, bandwidth: 1 TB/s}\n";
const std::string peak = "peak: {bf16: 1 TFLOP/s}\n";
const std::string sources = "sources: {peak: test, memory: test}\n";

struct Outcome {
  Device device;
  std::string complaints;
  bool errors = false;
};

Outcome read(const std::string& yaml, Purpose purpose = Purpose::use) {
  Diagnostics diagnostics;
  Outcome outcome;
  outcome.device = read_device(read_yaml(yaml, "d.yaml"), "d.yaml", diagnostics, purpose);
  for (const Diagnostic& d : diagnostics.all()) outcome.complaints += to_string(d) + "\n";
  outcome.errors = diagnostics.has_errors();
  return outcome;
}

}  // namespace

TEST_CASE("device profile: a full profile") {
  const Outcome outcome = read(R"(schema: llmcalc.device/1
name: NVIDIA H100 SXM5 80GB
aliases: [NVIDIA H100 80GB HBM3, h100-sxm5-80gb]
compute_capability: 9.0
units: {count: 132, clock: 1830 MHz, vector_clock: 1980 MHz, rate_class: GH100}
memory: {capacity: 80 GiB, visible: 81559 MiB, bandwidth: 3.35 TB/s, l2: 50 MiB}
peak:
  bf16: 989.4 TFLOP/s
  int8: 1978.9 TOP/s
  fp8_sparse: 3957.8 TFLOP/s
waived: {int8: rounded}
links: {nvlink: {per_direction: 450 GB/s}, xgmi: {per_direction: 64 GB/s}, pcie: {generation: 5, lanes: 16}}
power: 700 W
price: {usd_per_hour: 3.99, as_of: 2026-11}
sources: {peak: a whitepaper, memory: nvidia-smi}
notes: whatever
)",
                               Purpose::validate);
  CHECK_FALSE(outcome.errors);
  CHECK_THAT(outcome.complaints, ContainsSubstring("d.yaml:8:3: warning: peak: fp8_sparse is not derivable"));
  CHECK(outcome.complaints.find('\n') == outcome.complaints.size() - 1);  // and nothing else
  const Device& d = outcome.device;
  CHECK(d.name == "NVIDIA H100 SXM5 80GB");
  CHECK(d.aliases.size() == 2);
  CHECK(d.compute_capability == 9.0);
  REQUIRE(d.units.has_value());
  CHECK(d.units->count == 132);
  CHECK(d.units->clock == Hertz(1.83e9));
  CHECK(d.units->vector_clock.value_or(Hertz(0)) == Hertz(1.98e9));
  CHECK(d.units->rate_class == "GH100");
  CHECK(d.memory_capacity == Bytes(85'899'345'920));  // 80 x 2^30
  CHECK(d.usable_memory() == Bytes(85'520'809'984));  // 81,559 x 2^20
  CHECK(d.memory_bandwidth.value_or(BytesPerSecond(0)) == BytesPerSecond(3.35e12));
  CHECK(d.l2 == Bytes(52'428'800));
  CHECK(d.peak.at("bf16") == FlopsPerSecond(989.4e12));
  CHECK(d.peak.at("int8") == FlopsPerSecond(1978.9e12));
  CHECK(d.waived.at("int8") == "rounded");
  CHECK(d.nvlink_per_direction.value_or(BytesPerSecond(0)) == BytesPerSecond(450e9));
  CHECK(d.other_links.at("xgmi") == BytesPerSecond(64e9));
  CHECK(d.pcie_generation == 5);
  CHECK(d.pcie_lanes == 16);
  CHECK(d.power.value_or(Watts(0)) == Watts(700));
  CHECK(d.price.value_or(DollarsPerHour(0)) == DollarsPerHour(3.99));
  CHECK(d.price_as_of == "2026-11");
  CHECK(d.sources.at("memory") == "nvidia-smi");
}

TEST_CASE("device profile: the smallest profile: optional parts are absent, not zero") {
  const Outcome outcome = read(start + memory + peak + sources);
  CHECK(outcome.complaints.empty());
  CHECK_FALSE(outcome.device.units.has_value());
  CHECK_FALSE(outcome.device.power.has_value());
  CHECK_FALSE(outcome.device.price.has_value());
  CHECK_FALSE(outcome.device.compute_capability.has_value());
  CHECK(outcome.device.usable_memory() == Bytes(80'000'000'000));
}

TEST_CASE("device profile: what is wrong is named with its place") {
  const std::pair<std::string, const char*> rows[] = {
      {start + "memory: {capacity: 80 TB/s, bandwidth: 1 TB/s}\n" + peak,
       "d.yaml:3:20: error: memory.capacity: '80 TB/s' is a transfer rate; a size in bytes is needed"},
      {start + "memory: {capacity: 80, bandwidth: 1 TB/s}\n" + peak,
       "d.yaml:3:20: error: memory.capacity: '80' has no unit"},
      {start + "memory: {capacity: 80 GB, bandwidth: 0 TB/s}\n" + peak,
       "d.yaml:3:38: error: memory.bandwidth: must be greater than zero"},
      {start + "memory: {capacity: 80 GB, bandwidth: -1 TB/s}\n" + peak, "memory.bandwidth: '-1 TB/s' is negative"},
      {start + "memory: {capacity: 80 MIB}\n" + peak, "did you mean MiB"},
      {start + "memory: {capacity: [80 GB]}\n" + peak, "must be a number with its unit"},
      {start + "memory: {capacity: null}\n" + peak, "must be a number with its unit"},
      {start + "memory: 80 GB\n" + peak, "d.yaml:3:9: error: memory: must be a map"},
      {start + "memory: {capacity: 80 GB, visible: 90 GB}\n" + peak, "memory.visible: the driver cannot show"},
      {start + peak, "memory: is required and missing"},
      {start + memory, "peak: is required and missing"},
      {start + memory + "peak: {}\n", "at least one peak rate is required"},
      {start + memory + "peak: {bf61: 1 TFLOP/s}\n",
       "d.yaml:4:8: error: peak.bf61: unknown peak\nhint: did you mean bf16"},
      {start + memory + "peak: {bf16: 1 TB/s}\n", "a computing rate is needed"},
      {start + memory + peak + "pover: 700 W\n", "d.yaml:5:1: error: pover: unknown key\nhint: did you mean power?"},
      {start + memory + peak + "power: 700\n", "'700' has no unit"},
      {start + memory + peak + "waived: {fp8: x}\n", "there is no peak fp8 to waive"},
      {start + memory + peak + "waived: {bf16: }\n", "must be text"},
      {start + memory + peak + "aliases: x\n", "aliases: must be a list of names"},
      {start + memory + peak + "units: {count: 132}\n", "units.clock: is required and missing"},
      {start + memory + peak + "units: {count: 0, clock: 1 GHz, rate_class: x}\n", "units.count: must be at least 1"},
      {start + memory + peak + "units: {count: 1, clock: 1 GHz}\n", "units.rate_class: is required and missing"},
      {start + memory + peak + "links: {nvlnk: {per_direction: 1 GB/s}}\n", "did you mean nvlink?"},
      {start + memory + peak + "links: {nvlink: {per_drection: 1 GB/s}}\n", "did you mean per_direction?"},
      {start + memory + peak + "links: {pcie: {generation: 50, lanes: 16}}\n", "there is no such generation"},
      {start + memory + peak + "links: {pcie: {generation: 5, lanes: 160}}\n", "no device has that many lanes"},
      {start + memory + peak + "price: {as_of: 2026-11}\n", "price.usd_per_hour: is required and missing"},
      {start + memory + peak + "price: {usd_per_hour: -1}\n", "price.usd_per_hour: is negative"},
      {start + memory + peak + "price: {usd_per_hour: 1e308}\n", "price.usd_per_hour: is too large"},
      // Times of a step under these would not even be finite.
      {start + memory + "peak: {bf16: 1e-300 FLOP/s}\n", "peak.bf16: is far from what any device has"},
      {start + memory + "peak: {bf16: 1e300 FLOP/s}\n", "peak.bf16: is far from what any device has"},
      {start + "memory: {capacity: 80 GB, bandwidth: 1 B/s}\n" + peak, "memory.bandwidth: is far from what"},
      {start + memory + peak + "power: 1e300 W\n", "power: is far from what any device has"},
      {start + memory + peak + "power: 0 W\n", "power: must be greater than zero"},
      {start + memory + peak + "power: {max: 700 W}\n", "power: must be a number with its unit"},
      {start + memory + "peak: {bf16: 0 TFLOP/s}\n", "peak.bf16: must be greater than zero"},
      {start + memory + "peak: {bf16: [1 TFLOP/s]}\n", "peak.bf16: must be a number with its unit"},
      {start + "memory: {capacity: 80 GB, bandwidth: true}\n" + peak, "memory.bandwidth: must be a number with its"},
      {start + memory + peak + "units: {count: 1, clock: fast, rate_class: x}\n",
       "units.clock: 'fast' is not a number"},
      {start + memory + peak + "units: {count: 1, clock: 0 Hz, rate_class: x}\n", "units.clock: must be greater than"},
      {start + memory + peak + "units: {count: 1, clock: [1], rate_class: x}\n", "units.clock: must be a number with"},
      {start + memory + peak + "units: {count: 1, clock: 1e300 Hz, rate_class: x}\n", "units.clock: is far from what"},
      {start + memory + peak + "links: {xgmi: {per_direction: fast}}\n", "links.xgmi.per_direction: 'fast'"},
      {start + memory + peak + "compute_capability: x\n", "compute_capability: must be a finite number"},
      {"schema: llmcalc.device/1\n" + memory + peak, "name: is required and missing"},
      {"name: x\n" + memory + peak, "schema: is required and missing"},
      {"schema: llmcalc.device/9\nname: x\n" + memory + peak, "a version this program does not know"},
      {"schema: llmcalc.model/1\nname: x\n" + memory + peak, "this is a model; a device is needed here"},
      {"schema: llmcalc.devise/1\nname: x\n" + memory + peak, "did you mean llmcalc.device/1?"},
      {"schema: 5\nname: x\n" + memory + peak, "schema: must be llmcalc.device/1"},
      {"- a\n- b\n", "must be a map of keys and values"},
  };
  for (const auto& [text, message] : rows) {
    INFO(text);
    const Outcome outcome = read(text + sources.substr(text[0] == '-' ? sources.size() : 0));
    CHECK(outcome.errors);
    CHECK_THAT(outcome.complaints, ContainsSubstring(message));
  }
}

TEST_CASE("device profile: all problems come out in one run") {
  const Outcome outcome =
      read(start + "memory: {capacity: 80, bandwith: 1 TB/s}\npeak: {bf16: 1}\npover: 1 W\n" + sources);
  CHECK_THAT(outcome.complaints, ContainsSubstring("memory.capacity: '80' has no unit"));
  CHECK_THAT(outcome.complaints, ContainsSubstring("memory.bandwith: unknown key\nhint: did you mean bandwidth?"));
  CHECK_THAT(outcome.complaints, ContainsSubstring("peak.bf16: '1' has no unit"));
  CHECK_THAT(outcome.complaints, ContainsSubstring("did you mean power?"));
}

TEST_CASE("device profile: sources are due when a profile is validated, and missed when it is used") {
  const Outcome used = read(start + memory + peak);
  CHECK_FALSE(used.errors);
  CHECK_THAT(used.complaints, ContainsSubstring("warning: sources: nothing says where peak and memory come from"));
  CHECK(read(start + memory + peak, Purpose::validate).errors);
  CHECK_THAT(read(start + memory + peak + "sources: {peak: x}\n").complaints,
             ContainsSubstring("where memory come from"));
}

TEST_CASE("device profile: a measured profile") {
  const std::string measured = R"(measured:
  method: {llmcalc: 0.1.0, date: 2026-11-29, quick: true}
  workloads:
    - {workload: matmul, dtype: bf16, m: 4096, n: 4096, k: 8192, flops: 274877906944, bytes: 167772160, verified: true,
       samples: 41, median: 4.0e-4, p5: 3.9e-4, p95: 4.2e-4, noisy: false}
    - {workload: copy, elements: 1024, bytes: 68719476736, verified: true, samples: 9, median: 1.5 us, later: {key: x}}
)";
  const Outcome outcome = read(start + "memory: {capacity: 80 GB}\n" + measured, Purpose::validate);
  CHECK(outcome.complaints.empty());
  const Device& d = outcome.device;
  CHECK(d.measured_method.at("date") == "2026-11-29");
  REQUIRE(d.measured.size() == 2);
  CHECK(d.measured[0].workload == "matmul");
  CHECK(d.measured[0].dtype == "bf16");
  CHECK(d.measured[0].dimensions == std::map<std::string, Count>{{"k", 8192}, {"m", 4096}, {"n", 4096}});
  CHECK(d.measured[0].flops == Flops(274'877'906'944));
  CHECK(d.measured[0].bytes == Bytes(167'772'160));
  CHECK(d.measured[0].verified);
  CHECK(d.measured[0].samples == 41);
  CHECK(d.measured[0].median == Seconds(4.0e-4));
  CHECK(d.measured[0].p95 == Seconds(4.2e-4));
  CHECK(d.measured[1].median == Seconds(1.5e-6));
  CHECK(d.measured[1].bytes == Bytes(68'719'476'736));
  CHECK(d.measured[1].p5 == Seconds(1.5e-6));
  CHECK(d.measured[1].dimensions == std::map<std::string, Count>{{"elements", 1024}});
  const auto broken = [&](const std::string& text) { return read(start + memory + text).complaints; };
  CHECK_THAT(broken("measured: {method: {}}\n"), ContainsSubstring("measured.workloads: is required and missing"));
  CHECK_THAT(broken("measured: {workloads: 3}\n"), ContainsSubstring("must be a list of workloads"));
  CHECK_THAT(broken("measured: {workloads: [3]}\n"), ContainsSubstring("must be a map such as"));
  CHECK_THAT(broken("measured: {workloads: [{median: x}]}\n"), ContainsSubstring("is not a number"));
  CHECK_THAT(broken("measured: {workloads: [{workload: a, median: -1}]}\n"), ContainsSubstring("is negative"));
  CHECK_THAT(broken("measured: {workloads: [{workload: a}]}\n"), ContainsSubstring("median: is required"));
  CHECK_THAT(broken("measured: {workloads: [{workload: a, median: 1, flops: x}]}\n"), ContainsSubstring("flops: 'x'"));
  CHECK_THAT(broken("measured: {workloads: [{workload: a, median: 1, m: -5}]}\n"), ContainsSubstring("is negative"));
  CHECK_THAT(broken("measured: {workloads: [{workload: a, median: 1, bytes: 1e20}]}\n"),
             ContainsSubstring("too large"));
  for (const char* median : {"1e300", "1e-300", "-.inf", ".nan"})
    CHECK_THAT(broken("measured: {workloads: [{workload: a, median: " + std::string(median) + "}]}\n"),
               ContainsSubstring("error: measured.workloads[0].median: "));
  CHECK_THAT(broken("measured: {workloads: [{median: 1}]}\n"), ContainsSubstring("workload: is required"));
  CHECK_THAT(broken("measured: {transfers: 3, workloads: []}\n"), ContainsSubstring("transfers: must be a list"));
  CHECK_THAT(broken("measured: {transfers: [3], workloads: []}\n"),
             ContainsSubstring("must be a map such as {workload: memcpy"));
  CHECK_THAT(broken("measured: {transfers: [{workload: h2d, latency: 1e-6}], workloads: []}\n"),
             ContainsSubstring("rate: a number is missing"));
  CHECK_THAT(broken("measured: {transfers: [{workload: h2d, latency: x, rate: 1 GB/s}], workloads: []}\n"),
             ContainsSubstring("latency: 'x' is not a number"));
}
