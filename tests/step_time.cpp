// Expected times: shapes of products, published rates, measured ones, transfers and training.
#include <algorithm>

#include "core/achieved_rates.hpp"
#include "core/estimate.hpp"
#include "core/matmul_shape.hpp"
#include "core/passes/time.hpp"
#include "core/training.hpp"
#include "tests/catch.hpp"
#include "tests/support/jobs.hpp"

using namespace llmcalc;
using Catch::Matchers::ContainsSubstring;
using test::built_in_model;
using test::options_of;

namespace {

// What a square bf16 product is expected to reach, in TFLOP/s, launching included.
double expected_rate(const Device& device, Count size) {
  StepPlan plan;
  plan.precision = precision_named("bf16");
  plan.optimizer = optimizer_named("adamw");
  const Rates rates(device, plan, AttentionCounting::causal);
  Launch launch;
  launch.op = Op::mm;
  launch.dtype = DType::bfloat16;
  launch.batch = 1;
  launch.m = launch.n = launch.k = size;
  launch.read = Bytes(4 * size * size);
  launch.written = Bytes(2 * size * size);
  return (executed_flops(launch, AttentionCounting::causal) / (rates.expected(launch).longer() + rates.launch_cost))
             .value() /
         1e12;
}

MeasuredWorkload measured(const char* workload, std::map<std::string, Count> dimensions, Flops flops, Bytes bytes,
                          double seconds) {
  MeasuredWorkload w;
  w.workload = workload;
  w.dtype = "bf16";
  w.dimensions = std::move(dimensions);
  w.flops = flops;
  w.bytes = bytes;
  w.verified = true;
  w.median = w.p5 = w.p95 = Seconds(seconds);
  return w;
}

bool speaks_of_energy(const Report& report) {
  return std::any_of(report.scope.begin(), report.scope.end(),
                     [](const std::string& line) { return line.rfind("energy: ", 0) == 0; });
}

}  // namespace

TEST_CASE("tiles fill whole waves, or do not") {
  const Device h100 = built_in_device("h100-sxm");  // 132 SMs
  // 12 x 11 tiles of 256 x 128: one whole wave.
  CHECK(shape_efficiency(h100, "bf16", {1, 3072, 1408, 8192}) == Approx(1).epsilon(1e-3));
  // One more row of tiles: 26 x 11 = 286 of 128 x 128 in three waves of 132 is the best of it.
  CHECK(shape_efficiency(h100, "bf16", {1, 3328, 1408, 8192}) == Approx(286.0 / 396).epsilon(1e-3));
  // Large products hardly notice.
  CHECK(shape_efficiency(h100, "bf16", {1, 16384, 16384, 8192}) > 0.97);
  // Few rows leave most of a tile empty.
  CHECK(shape_efficiency(h100, "bf16", {1, 16, 16384, 8192}) < 0.26);
  // Few tiles but a long inner length: it is split over the units.
  CHECK(shape_efficiency(h100, "bf16", {1, 512, 512, 65536}) > 4 * 16.0 / 132);
}

TEST_CASE("a vocabulary of 50257 is slower than one of 50304") {
  const Device a100 = built_in_device("a100-sxm-80gb");
  const double odd = shape_efficiency(a100, "bf16", {1, 8192, 50257, 768, 2});
  const double even = shape_efficiency(a100, "bf16", {1, 8192, 50304, 768, 16});
  CHECK(odd / even == Approx(0.71).epsilon(0.02));
  // The trace knows where rows start: the head's logits have 50257 columns of 2 bytes.
  Count head_products = 0;
  const test::TracedJob job = test::traced_job("gpt2", "a100-sxm-80gb", {});
  for (const Launch& launch : job.step.trace.tape()) {
    if (!is_matrix_product(launch.op) || launch.flops_per_pair) continue;
    const bool head = launch.m == 50257 || launch.n == 50257 || launch.k == 50257;
    head_products += head;
    CHECK(launch.row_alignment == (head ? 2 : 16));
  }
  CHECK(head_products == 3);
}

TEST_CASE("published rates of large products") {
  // torch on an H100 SXM: 797.5 at 8192, 788.7 at 4096 (zzc0721/torch-performance-test-data #79); cuBLAS 795 at 8192
  // (fast.cu). A100 SXM: about 270 sustained at 8192 (gpu-fryer). H100 PCIe: 492.8 at 8192 (#95).
  CHECK(expected_rate(built_in_device("h100-sxm"), 8192) == Approx(795).epsilon(0.05));
  CHECK(expected_rate(built_in_device("a100-sxm-80gb"), 8192) == Approx(270).epsilon(0.03));
  CHECK(expected_rate(built_in_device("h100-pcie"), 8192) == Approx(492.8).epsilon(0.05));
  // A device nobody measured takes the middle of those that were, and says so.
  CHECK_THAT(achieved_matmul(built_in_device("hypothetical"), "bf16").source, ContainsSubstring("no figure"));
  // Small ones are far from it.
  CHECK(expected_rate(built_in_device("h100-sxm"), 256) < 60);
}

TEST_CASE("a profile's own measurements come first") {
  Device device = built_in_device("h200");
  const Flops flops(1099511627776);
  // A copy alone says nothing of products, so the step is not called measured.
  Device copied = device;
  copied.measured = {measured("copy", {{"elements", 1 << 30}}, Flops(0), Bytes(4294967296), 1.0e-3)};
  CHECK(estimate(built_in_model("llama-3-8b"), &copied, options_of({})).time->basis == "roofline");
  device.measured.push_back(
      measured("matmul", {{"m", 8192}, {"n", 8192}, {"k", 8192}}, flops, Bytes(402653184), 1.5e-3));
  device.measured.push_back(measured("copy", {{"elements", 1 << 30}}, Flops(0), Bytes(4294967296), 1.0e-3));
  CHECK(expected_rate(device, 8192) == Approx(1099511627776 / (1.5e-3 + 2.5e-6) / 1e12));
  const Report report = estimate(built_in_model("gpt2"), &device, options_of({}));
  CHECK(report.time->basis == "measured");
  CHECK_THAT(report.time->rates, ContainsSubstring("4.295 TB/s"));
}

TEST_CASE("measured attention predicts attention of other lengths") {
  const auto pass = [](const char* name, Count length, double seconds, Count size = 64) {
    return measured(
        name, {{"batch", 1}, {"heads", 4}, {"kv_heads", 4}, {"length", length}, {"qk_size", size}, {"v_size", size}},
        Flops(1'000'000'000'000), Bytes(1), seconds);
  };
  Device device = built_in_device("h200");
  // 100 and 200 TFLOP/s. Per pair, 200 tokens lie a third of the way in 1 / length from 400 to 100: 150 TFLOP/s.
  device.measured = {pass("attention", 100, 10e-3), pass("attention", 400, 5e-3),
                     pass("attention_backward", 200, 1e-3)};
  StepPlan plan;
  plan.precision = precision_named("bf16");
  plan.optimizer = optimizer_named("adamw");
  // Nearer in length, and neither like heads of 64 in bf16.
  device.measured.push_back(pass("attention", 200, 1e-6, 72));
  device.measured.push_back(pass("attention", 200, 1e-6));
  device.measured.back().dtype = "fp16";
  const Rates rates(device, plan, AttentionCounting::full);
  const auto seconds = [&](Op op, Count length, Count size = 64) {
    Launch launch;
    launch.op = op;
    launch.dtype = DType::bfloat16;
    launch.attention = {1, 4, 4, length, size, size, length, length};
    launch.flops_per_pair = 1'000'000;
    launch.pairs = {8'000'000, 4'000'000, 3'000'000};  // of which the exact ones count: 1.5e12 FLOPs
    launch.skips_masked = true;
    return rates.expected(launch).compute.value();
  };
  CHECK(seconds(Op::attention_forward, 200) == Approx(10e-3));
  CHECK(seconds(Op::attention_forward, 100) == Approx(15e-3));
  CHECK(seconds(Op::attention_forward, 50) == Approx(15e-3));
  CHECK(seconds(Op::attention_forward, 4000) == Approx(7.5e-3));
  CHECK(seconds(Op::attention_backward, 4000) == Approx(1.5e-3));
  CHECK(seconds(Op::attention_forward, 4000, 72) == Approx(1.5e-6));
  // Heads of 65, which nobody measured, take what is nearest; documents of several lengths a published share.
  CHECK(seconds(Op::attention_forward, 100, 65) == Approx(15e-3));
  CHECK(seconds(Op::attention_forward, 0) > 2e-3);

  // What is said of the rates names attention where both of its passes were measured.
  const auto source = [&](std::size_t passes) {
    Device some = built_in_device("h200");
    some.measured = {
        measured("matmul", {{"m", 8192}, {"n", 8192}, {"k", 8192}}, Flops(1099511627776), Bytes(1), 1.5e-3),
        measured("copy", {}, Flops(0), Bytes(4294967296), 1.0e-3)};
    if (passes > 0) some.measured.push_back(pass("attention", 100, 1e-3));
    if (passes > 1) some.measured.push_back(pass("attention_backward", 100, 1e-3));
    return Rates(some, plan, AttentionCounting::full).source;
  };
  for (const std::size_t passes : {0U, 1U}) CHECK_THAT(source(passes), !ContainsSubstring("attention"));
  CHECK_THAT(source(2), ContainsSubstring("fused attention as measured"));
}

TEST_CASE("a given MFU decides the step; the breakdown is the prediction's") {
  const Device device = built_in_device("h100-sxm");
  const Report given = estimate(built_in_model("gpt2"), &device, options_of({{"mfu", "30%"}, {"tokens", "1B"}}));
  CHECK(given.time->basis == "mfu");
  CHECK(given.time->step->value() == Approx(given.flops->model.as_double() / (989.4e12 * 0.3)));
  CHECK(given.time->parts.empty());
  const Report predicted = estimate(built_in_model("gpt2"), &device, options_of({{"tokens", "1B"}}));
  CHECK(predicted.time->basis == "roofline");
  CHECK(*predicted.time->training == *predicted.time->step * static_cast<double>(*predicted.time->steps));
  CHECK(*predicted.time->steps == 976563);  // 10^9 / 1024, rounded up
  CHECK(predicted.cost->device_hours == Approx(predicted.time->training->value() / 3600));
  CHECK(*predicted.cost->usd == Approx(predicted.cost->device_hours * 3.99));
  CHECK(*predicted.cost->energy_kwh == Approx(predicted.cost->device_hours * 0.7));
  CHECK(speaks_of_energy(predicted));
  CHECK_FALSE(speaks_of_energy(estimate(built_in_model("gpt2"), &device, options_of({}))));  // no tokens, no training
  Device unplugged = device;
  unplugged.power.reset();
  const Report unknown = estimate(built_in_model("gpt2"), &unplugged, options_of({{"tokens", "1B"}}));
  CHECK(*unknown.cost->usd == *predicted.cost->usd);
  CHECK_FALSE(unknown.cost->energy_kwh);
  CHECK_FALSE(speaks_of_energy(unknown));
  // How attention is counted changes the MFU, not the time.
  const Report full = estimate(built_in_model("gpt2"), &device, options_of({{"attention-flops", "full"}}));
  CHECK(*full.time->step == *predicted.time->step);
  CHECK(full.time->mfu > predicted.time->mfu);
}

TEST_CASE("input and checkpoints") {
  const Device device = built_in_device("a100-sxm-80gb");  // PCI Express 4, 16 lanes: 31.5 GB/s one way
  const Report report = estimate(built_in_model("gpt2"), &device, options_of({{"batch", "8"}, {"accumulate", "2"}}));
  CHECK(report.input->per_step == Bytes(8 * 1024 * 8 * 2));  // int64 ids
  CHECK(report.input->pinned.value() == Approx(131072 / (31.508e9 * 0.83)).epsilon(1e-3));
  CHECK(report.input->hidden);
  // fp32 weights and two moments: 12 bytes a parameter.
  CHECK(report.checkpoint->bytes == Bytes(12 * Count{124439808}));
  CHECK(report.checkpoint->write.value() == Approx(12.0 * 124439808 / 1e9));
}

TEST_CASE("published whole runs") {
  // GPT-3, 300 B tokens on 1024 A100 (Narayanan et al. 2021): 140 of 312 TFLOP/s executed with full recomputation, and
  // 8 N D FLOPs, are 33.9 days. Taken for an MFU the same 44.9 % promise 25.4 days.
  Device device = built_in_device("a100-sxm-80gb");
  ModelSource gpt3;
  gpt3.name = "GPT-3";
  gpt3.parameters = 175'000'000'000;
  const auto days = [&](const char* mfu) {
    const Report report = estimate(
        gpt3, &device, options_of({{"mfu", mfu}, {"tokens", "300B"}, {"gpus", "1024"}, {"precision", "bf16"}}));
    return report.time->training->value() / 86400;
  };
  CHECK(days("0.33654") == Approx(33.9).epsilon(0.002));  // 140/312 x 6/8
  CHECK(days("0.44872") == Approx(25.4).epsilon(0.002));
}
