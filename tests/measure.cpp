// The harness against planted faults: everything a measurement can get wrong must be found out. Recorded samples stand
// in for a device; the CPU backend runs faulty kernels.
#include <cmath>
#include <limits>
#include <string>

#include "catch.hpp"
#include "core/diagnostics.hpp"
#include "kernels/campaign.hpp"
#include "kernels/cpu/backend.hpp"
#include "kernels/replay/backend.hpp"
#include "kernels/statistics.hpp"
#include "kernels/verify.hpp"

using namespace llmcalc;

namespace {

const std::atomic<bool> go_on{false};

MeasuredWorkload replayed(const std::string& recording, const std::string& head = "cache 1000\n") {
  replay::ReplayBackend backend("llmcalc.replay/1\n" + head + "workload *\n" + recording, "test");
  const Workload copy = memory_workload(Kernel::copy, DType::float32, 1 << 20);
  const auto outcomes = measure_group(backend, backend.info(), {copy}, Limits{}, go_on);
  REQUIRE(outcomes.size() == 1);
  INFO(outcomes[0].skipped);
  REQUIRE(outcomes[0].skipped.empty());
  return outcomes[0].record;
}

// Faulty matrix products, as a mistake in a kernel or in its call would make them.
using cpu::matmul_plain;
void skips_last_row(Count m, Count n, Count k, Matrix a, Matrix b, float* c, Count ldc) {
  matmul_plain(m - 1, n, k, a, b, c, ldc);
}
void writes_nan(Count m, Count n, Count k, Matrix a, Matrix b, float* c, Count ldc) {
  matmul_plain(m, n, k, a, b, c, ldc);
  c[(m / 2) * ldc + n / 2] = std::numeric_limits<float>::quiet_NaN();
}
void halves_k(Count m, Count n, Count k, Matrix a, Matrix b, float* c, Count ldc) {
  matmul_plain(m, n, k / 2, a, b, c, ldc);
}
void swaps_m_and_n(Count m, Count n, Count k, Matrix a, Matrix b, float* c, Count ldc) {
  for (Count i = 0; i < m; ++i) {
    for (Count j = 0; j < n; ++j) {
      float sum = 0;
      for (Count p = 0; p < k; ++p) sum += a.at(i, p) * b.at(p, j);
      c[j % m * ldc + i % n] = sum;  // the transposed product, wrapped into the same buffer
    }
  }
}
void turns_a(Count m, Count n, Count k, Matrix a, Matrix b, float* c, Count ldc) {
  matmul_plain(m, n, k, whole_matrix(a.data, m, k, a.column == 1), b, c, ldc);
}
void one_element_off(Count m, Count n, Count k, Matrix a, Matrix b, float* c, Count ldc) {
  matmul_plain(m, n, k, a, b, c, ldc);
  c[(m - 1) * ldc + n - 1] *= 1.01F;
}

Limits few_samples() {
  Limits limits;
  limits.fewest = 3;
  limits.most = 3;
  limits.shortest_sample = 0;
  return limits;
}

MeasuredWorkload measured_on_cpu(cpu::CpuBackend& backend, Workload workload, const std::string& variant) {
  workload.variant = variant;
  workload.cold = false;
  DeviceInfo info;
  info.last_level_cache = Bytes(1 << 16);
  const auto outcomes = measure_group(backend, info, {workload}, few_samples(), go_on);
  INFO(outcomes[0].skipped);
  REQUIRE(outcomes[0].skipped.empty());
  return outcomes[0].record;
}

constexpr std::size_t portable = 0;  // of kernel_tables(): the best this machine has

}  // namespace

TEST_CASE("Order statistics") {
  // By hand: 1..5 has median 3; the 5th percentile lies a fifth of the way from 1 to 2.
  const Summary s = summarise({5, 1, 4, 2, 3});
  CHECK(s.minimum == 1);
  CHECK(s.median == 3);
  CHECK(s.p5 == Approx(1.2));
  CHECK(s.p95 == Approx(4.8));
  CHECK(summarise({4, 1, 2, 3}).median == 2.5);  // between the two in the middle
  CHECK(summarise({}).count == 0);
  CHECK(std::isinf(summarise({1, 2}).half_width));  // two samples say nothing about the spread
  CHECK(summarise({7, 7, 7, 7, 7, 7, 7}).half_width == 0);
}

TEST_CASE("The median's interval takes neighbours' likeness into account") {
  // The same 64 values, once alternating and once in two long runs: runs carry less information, so the interval is
  // wider.
  std::vector<double> alternating, runs;
  for (int i = 0; i < 64; ++i) alternating.push_back(1 + 0.2 * (i % 2) + 0.001 * i);
  runs = alternating;
  std::sort(runs.begin(), runs.end());
  CHECK(summarise(runs).half_width > summarise(alternating).half_width);
}

TEST_CASE("Steady samples settle, and say so") {
  const MeasuredWorkload r = replayed("samples 0.010 0.0101 0.0099 0.010 0.01005\n");
  CHECK(r.verified);
  CHECK_FALSE(r.noisy);
  CHECK(r.stop == "settled");
  CHECK(r.median.value() == Approx(0.010));
  CHECK(r.samples >= 7);
  CHECK(r.state == "cold");
}

TEST_CASE("Samples that never settle are marked noisy, and the time is up") {
  const MeasuredWorkload r = replayed("samples 0.01 0.05 0.02 0.09 0.01 0.2 0.03 0.15\n");
  CHECK(r.verified);
  CHECK(r.noisy);
  CHECK(r.stop.rfind("time up", 0) == 0);
}

TEST_CASE("A clock that runs backwards, or stands still, is an error") {
  const MeasuredWorkload backwards = replayed("samples 0.01 0.01 0.01 0.01 -0.01\n");
  CHECK_FALSE(backwards.verified);
  CHECK(backwards.problem == "the clock ran backwards");
  const MeasuredWorkload still = replayed("samples 0.01 0.01 0.01 0\n");
  CHECK_FALSE(still.verified);
  CHECK(still.problem == "no time passed while it ran");
  CHECK_FALSE(replayed("samples 0.01 0.01 0.01 nan\n").verified);
}

TEST_CASE("A device that throttles half-way is noted") {
  std::string samples = "samples";
  for (int i = 0; i < 2; ++i) samples += " 0.01";  // warm-up
  for (int i = 0; i < 40; ++i) samples += " 0.010" + std::to_string(i % 3);
  for (int i = 0; i < 40; ++i) samples += " 0.015" + std::to_string(i % 3);
  replay::ReplayBackend backend("llmcalc.replay/1\ncache 1000\nworkload *\n" + samples + "\n", "test");
  Limits limits;
  limits.fewest = limits.most = 80;
  limits.seconds = 100;
  const auto outcomes =
      measure_group(backend, backend.info(), {memory_workload(Kernel::copy, DType::float32, 1 << 20)}, limits, go_on);
  CHECK(outcomes[0].record.noisy);
  CHECK(outcomes[0].record.stop.find("slower half-way") != std::string::npos);
}

TEST_CASE("Faster than possible is an error, not a record") {
  // 8 MiB in 1 us is 8.4 TB/s.
  const MeasuredWorkload r = replayed("samples 1e-6\n", "cache 1000\nmost_bytes 4.8e12\n");
  CHECK_FALSE(r.verified);
  CHECK(r.problem.rfind("faster than possible", 0) == 0);
  CHECK(replayed("samples 2e-6\n", "cache 1000\nmost_bytes 4.8e12\n").verified);
}

TEST_CASE("A buffer that fits in the cache is no memory bandwidth") {
  const MeasuredWorkload r = replayed("samples 0.01\nfootprint 3999\n");
  CHECK(r.state == "cached");
  CHECK_FALSE(ceilings({r}).bandwidth);
  const MeasuredWorkload cold = replayed("samples 0.01\nfootprint 4000\n");
  CHECK(cold.state == "cold");
  CHECK(ceilings({cold}).bandwidth);
}

TEST_CASE("Bytes counted once are found out") {
  // A copy of 4 MiB reads and writes: 8 MiB move.
  CHECK(memory_workload(Kernel::copy, DType::float32, 1 << 20).bytes() == Bytes(8 << 20));
  const MeasuredWorkload r = replayed("samples 0.01\nmoved 4194304\n");
  CHECK_FALSE(r.verified);
  CHECK(r.problem.rfind("the kernel moves", 0) == 0);
}

TEST_CASE("An error that is no number fails") {
  CHECK_FALSE(replayed("samples 0.01\nerror nan\n").verified);
  CHECK_FALSE(replayed("samples 0.01\nerror 0.5\n").verified);
  CHECK(replayed("samples 0.01\nerror 1e-7\n").verified);
}

TEST_CASE("Memory that cannot be had leaves a workload out") {
  replay::ReplayBackend backend("llmcalc.replay/1\nworkload *\nno_memory\n", "test");
  const auto outcomes =
      measure_group(backend, backend.info(), {memory_workload(Kernel::copy, DType::float32, 64)}, Limits{}, go_on);
  CHECK(outcomes[0].skipped == "not enough memory");
  cpu::CpuBackend machine;
  CHECK_THROWS_AS(machine.prepare(memory_workload(Kernel::copy, DType::float32, Count{1} << 50)), Error);
}

TEST_CASE("A recording that is none is refused with its line") {
  try {
    replay::ReplayBackend backend("llmcalc.replay/1\nworkload *\nsamples 1 two\n", "file");
    FAIL("accepted");
  } catch (const Error& error) {
    CHECK(error.exit() == Exit::bad_input);
    CHECK(std::string(error.what()).find("file:3") != std::string::npos);
  }
  CHECK_THROWS_AS(replay::ReplayBackend("something else\n", "file"), Error);
  for (const char* size : {"-1", "0.5", "nan", "inf", "1e30", "1 2", ""}) {
    INFO(size);
    const std::string text = "llmcalc.replay/1\nmemory " + std::string(size) + "\nworkload *\nsamples 1\n";
    CHECK_THROWS_AS(replay::ReplayBackend(text, "file"), Error);
  }
  CHECK_THROWS_AS(replay::ReplayBackend("llmcalc.replay/1\n", "file"), Error);
}

TEST_CASE("Variants are sampled in turn") {
  replay::ReplayBackend backend("llmcalc.replay/1\ncache 10\nworkload *\nsamples 0.01 0.011\n", "test");
  Workload a = memory_workload(Kernel::copy, DType::float32, 1 << 20), b = a;
  a.variant = "plain";
  b.variant = "non-temporal";
  const auto outcomes = measure_group(backend, backend.info(), {a, b}, Limits{}, go_on);
  CHECK(outcomes[0].samples.size() == outcomes[1].samples.size());
}

TEST_CASE("An interrupt stops the sampling and keeps nothing half-done") {
  replay::ReplayBackend backend("llmcalc.replay/1\ncache 10\nworkload *\nsamples 0.01\n", "test");
  const std::atomic<bool> stop{true};
  Plan plan;
  plan.groups.push_back({{memory_workload(Kernel::copy, DType::float32, 1 << 20)}, Limits{}});
  plan.seconds = 10;
  const Campaign campaign = run_campaign(backend, backend.info(), plan, {}, stop, {});
  CHECK(campaign.interrupted);
  CHECK(campaign.found.empty());
}

TEST_CASE("A campaign reports after every group and does not repeat what is known") {
  replay::ReplayBackend backend("llmcalc.replay/1\ncache 10\nworkload *\nsamples 0.001\n", "test");
  Plan plan;
  plan.seconds = 10;
  for (Kernel kernel : {Kernel::copy, Kernel::add})
    plan.groups.push_back({{memory_workload(kernel, DType::float32, 1 << 20)}, Limits{}});
  std::vector<std::size_t> sizes;
  CampaignHooks hooks;
  hooks.after = [&](const Campaign& campaign) { sizes.push_back(campaign.found.size()); };
  const Campaign first = run_campaign(backend, backend.info(), plan, {}, go_on, hooks);
  CHECK(sizes == std::vector<std::size_t>{1, 2});
  CHECK(run_campaign(backend, backend.info(), plan, first.found, go_on, hooks).found.size() == 2);
  CHECK(sizes.size() == 2);
}

TEST_CASE("A product's check finds what a kernel leaves out or gets wrong") {
  cpu::CpuBackend backend({{"right", matmul_plain},
                           {"skips last row", skips_last_row},
                           {"NaN", writes_nan},
                           {"half K", halves_k},
                           {"M and N", swaps_m_and_n},
                           {"A turned", turns_a},
                           {"1 % in one place", one_element_off}},
                          portable, Bytes(1 << 16));
  for (const char* layout : {"NN", "NT", "TN", "TT"}) {
    INFO(layout);
    const Workload product = matmul_workload(DType::float32, 40, 24, 56, 1, layout);
    const MeasuredWorkload right = measured_on_cpu(backend, product, "right");
    INFO(right.problem);
    CHECK(right.verified);
    CHECK(right.layout == layout);
    for (const char* fault : {"skips last row", "NaN", "half K", "M and N", "A turned", "1 % in one place"}) {
      INFO(fault);
      const MeasuredWorkload wrong = measured_on_cpu(backend, product, fault);
      CHECK_FALSE(wrong.verified);
      CHECK_FALSE(wrong.problem.empty());
    }
  }
}

TEST_CASE("Element checks see the last element and NaN anywhere") {
  std::vector<float> values(5000, 1.0F);
  const auto expected = [](Count) { return 1.0; };
  CHECK(verify_elements(values.data(), 5000, expected, 1, 1e-5).passed);
  values.back() = 0;
  CHECK_FALSE(verify_elements(values.data(), 5000, expected, 1, 1e-5).passed);
  values.back() = 1;
  values[1234] = std::numeric_limits<float>::quiet_NaN();
  CHECK_FALSE(verify_elements(values.data(), 5000, expected, 1, 1e-5).passed);
  CHECK_FALSE(verify_value(std::nan(""), 1, 1, 1e-5).passed);
}
