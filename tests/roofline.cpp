// Rooflines against numbers computed by hand: the textbook's, ridge points, single operations, whole steps.
#include "core/roofline.hpp"

#include <numeric>

#include "core/ops/cast.hpp"
#include "core/ops/matmul.hpp"
#include "core/ops/normalise.hpp"
#include "core/passes/kernels.hpp"
#include "tests/catch.hpp"
#include "tests/support/estimates.hpp"
#include "tests/support/jobs.hpp"

using namespace llmcalc;
using test::traced_job;
using test::TracedJob;

namespace {

// The least time of the last launch of a trace in bf16 on an H100 SXM: 989.4 TFLOP/s, 3.35 TB/s.
LaunchTime least_on_h100(const Trace& trace) {
  const Device device = built_in_device("h100-sxm");
  StepPlan plan;
  plan.precision = precision_named("bf16");
  plan.optimizer = optimizer_named("adamw");
  return Rates(device, plan, AttentionCounting::causal).least(trace.tape().back());
}

Seconds least_of_optimizer(const TracedJob& job) {
  const Rates rates(job.device, job.resolved.plan, AttentionCounting::causal);
  for (const Launch& launch : job.step.trace.tape())
    if (launch.pass == Pass::optimizer) return rates.least(launch).longer();
  return {};
}

}  // namespace

TEST_CASE("the textbook's roofline: 100 TFLOP/s and 1 TB/s") {
  const FlopsPerSecond peak(100e12);
  const BytesPerSecond bandwidth(1e12);
  const RooflinePoint low = roofline_point(peak, bandwidth, FlopsPerByte(20));
  CHECK(low.ridge.value() == Approx(100));
  CHECK(low.attainable.value() == Approx(20e12));
  CHECK(low.bound == Bound::memory);
  const RooflinePoint high = roofline_point(peak, bandwidth, FlopsPerByte(150));
  CHECK(high.attainable.value() == Approx(100e12));
  CHECK(high.bound == Bound::compute);
  CHECK(roofline_point(peak, bandwidth, FlopsPerByte(100)).bound == Bound::compute);  // the ridge itself
}

TEST_CASE("ridge points: peak over bandwidth, for each number format") {
  struct Row {
    const char* device;
    const char* dtype;
    double ridge;
  };
  const Row rows[] = {
      {"h100-sxm", "bf16", 989.4 / 3.35},     {"h100-sxm", "fp8", 1978.9 / 3.35},
      {"h100-sxm", "tf32", 494.7 / 3.35},     {"h100-sxm", "fp32", 66.9 / 3.35},
      {"h200", "bf16", 989.4 / 4.8},          {"a100-sxm-80gb", "bf16", 312 / 2.039},
      {"a100-sxm-40gb", "bf16", 312 / 1.555}, {"t4", "fp16", 65 / 0.32},
      {"v100-sxm-16gb", "fp16", 125 / 0.898}, {"rtx-4090", "bf16", 165.2 / 1.01},
      {"b200", "bf16", 2250 / 7.672},         {"hypothetical", "fp32", 100},
  };
  for (const Row& row : rows) {
    INFO(row.device << " " << row.dtype);
    CHECK(ridge_points(built_in_device(row.device)).at(row.dtype).value() == Approx(row.ridge).epsilon(0.002));
  }
  CHECK(ridge_points(built_in_device("v100-sxm-16gb")).count("bf16") == 0);
}

TEST_CASE("least times of single operations") {
  Trace t({}, {});
  const Tensor a = t.allocate(DType::bfloat16, {4096, 4096}), b = t.allocate(DType::bfloat16, {4096, 4096});
  mm(t, a, b);
  // 2 * 4096^3 = 137,438,953,472 FLOP / 989.4e12; three matrices of 33,554,432 B / 3.35e12.
  CHECK(least_on_h100(t).compute.value() == Approx(138.911e-6).epsilon(1e-4));
  CHECK(least_on_h100(t).memory.value() == Approx(30.0488e-6).epsilon(1e-4));
  CHECK(least_on_h100(t).longer().value() == Approx(138.911e-6).epsilon(1e-4));

  copy(t, t.allocate(DType::bfloat16, {1 << 14, 1 << 14}));
  // 2^28 elements of 2 B, read and written: 1,073,741,824 B / 3.35e12.
  CHECK(least_on_h100(t).longer().value() == Approx(320.520e-6).epsilon(1e-4));

  layer_norm(t, t.allocate(DType::float32, {8192, 4096}), nullptr, nullptr);
  // 134,217,728 B each way, and two floats for each of 8192 rows: 268,500,992 B / 3.35e12.
  CHECK(least_on_h100(t).longer().value() == Approx(80.1495e-6).epsilon(1e-4));
}

TEST_CASE("AdamW moves 28 bytes a parameter when fused, 80 as a chain of kernels") {
  // fp32: reads p, g, m, v (16 B) and writes p, m, v (12 B). GPT-2 has 124,439,808 parameters; A100: 2.039 TB/s.
  const TracedJob fused = traced_job("gpt2", "a100-sxm-80gb", {{"precision", "fp32"}, {"optimizer-step", "fused"}});
  CHECK(least_of_optimizer(fused).value() == Approx(28.0 * 124439808 / 2.039e12).epsilon(1e-9));
  // Eight passes: 12 reads and 8 writes of 4 B.
  const TracedJob foreach_ =
      traced_job("gpt2", "a100-sxm-80gb", {{"precision", "fp32"}, {"optimizer-step", "foreach"}});
  CHECK(least_of_optimizer(foreach_).value() == Approx(80.0 * 124439808 / 2.039e12).epsilon(1e-9));
}

TEST_CASE("kernels of the optimizer: chunks of 65,536 elements, 320 to a launch") {
  // Chunks of GPT-2: 589 (tokens) + 12 (positions) + 12 layers x 116 + 2 = 1995, so 7 launches; AdamW makes 8 passes.
  const auto kernels = [](const char* how) {
    const TracedJob job = traced_job("gpt2", "a100-sxm-80gb", {{"optimizer-step", how}});
    return optimizer_kernels(*job.model.model, job.resolved.plan);
  };
  CHECK(kernels("fused") == 7);
  CHECK(kernels("foreach") == 56);
  CHECK(kernels("single") == 8 * 148);  // 148 tensors
}

TEST_CASE("kernels of the optimizer: 30 tensors to a launch, however small they are") {
  // 30 layers of 12 tensors, two tables, a norm of two: 364 tensors, none above 65,536 elements.
  const ModelSource tiny = test::model_from_json(
      R"({"model_type": "gpt2", "n_embd": 16, "n_layer": 30, "n_head": 2, "vocab_size": 64, "n_positions": 16})");
  const StepPlan plan = resolve(test::options_of({{"optimizer-step", "fused"}}), tiny, nullptr).plan;
  CHECK(optimizer_kernels(*tiny.model, plan) == 13);
}

TEST_CASE("operations of several kernels") {
  struct Row {
    Op op;
    Count forward, backward;
  };
  // PyTorch's CUDA kernels: a gradient of the table begins with zeros, and so does that of the log-probabilities; a
  // norm's backward pass has one kernel for the input and one for weight and bias; flash's has three.
  for (const Row& row : {Row{Op::embedding, 1, 2}, Row{Op::nll_loss, 1, 2}, Row{Op::layer_norm, 1, 2},
                         Row{Op::attention_backward, 3, 3}, Row{Op::mm, 1, 1}}) {
    INFO(name_of(row.op));
    Launch launch;
    launch.op = row.op;
    launch.repeat = 5;
    launch.pass = Pass::forward;
    CHECK(kernels_of(launch) == 5 * row.forward);
    launch.pass = Pass::backward;
    CHECK(kernels_of(launch) == 5 * row.backward);
  }
}

TEST_CASE("operations add up to the step, and the step to what estimate says") {
  for (const char* accumulate : {"1", "3"}) {
    const std::vector<GivenOption> options{{"seq", "1024"}, {"accumulate", accumulate}, {"recompute", "full"}};
    const ModelSource model = test::built_in_model("llama-3.2-1b");
    const RooflineReport report = job_roofline(model, built_in_device("h100-sxm"), test::options_of(options));
    Seconds least, expected, parts;
    double shares = 0;
    Seconds before(1e9);
    for (const RooflineOperation& o : report.step->operations) {
      least += o.time;
      expected += o.expected;
      shares += o.share;
      CHECK(o.time <= before);  // the longest first
      before = o.time;
    }
    for (const auto& [name, seconds] : report.time.parts) parts += seconds;
    CHECK(shares == Approx(1));
    CHECK(least.value() == Approx(report.time.least.value()));
    CHECK(expected.value() == Approx(report.time.expected.value()));
    CHECK(parts.value() == Approx(report.time.expected.value()));
    CHECK(report.time.least < report.time.shortest);
    CHECK(report.time.shortest < report.time.expected);
    CHECK(report.time.expected < report.time.longest);
    CHECK((report.time.products_least + report.time.memory_least).value() == Approx(report.time.least.value()));
  }
}

TEST_CASE("every pass of a step has its operations") {
  const RooflineReport report = job_roofline(test::built_in_model("gpt2"), built_in_device("a100-sxm-80gb"),
                                             test::options_of({{"recompute", "full"}}));
  std::map<Pass, Flops> products;
  for (const RooflineOperation& o : report.step->operations)
    if (is_matrix_product(o.op)) products[o.pass] += o.flops;
  // 2 FLOPs x (weights in products + head) x tokens + attention's two products with half the square, in bf16.
  const Count weights = 12 * 12 * 768 * 768 + 50257 * 768, attention = Count{12} * 2 * 1024 * 1024 * 768;
  CHECK(products[Pass::forward] == Flops(2 * weights * 1024 + attention));
  CHECK(products[Pass::backward] > products[Pass::forward]);
  CHECK(products[Pass::recompute] > Flops(0));
  CHECK(report.step->operations.front().attainable() <= FlopsPerSecond(312e12 * 1.0000001));
}

TEST_CASE("ceilings: stated, then measured") {
  Device device = built_in_device("h200");
  MeasuredWorkload matmul;
  matmul.workload = "matmul";
  matmul.dtype = "bf16";
  matmul.dimensions = {{"m", 8192}, {"n", 8192}, {"k", 8192}};
  matmul.flops = Flops(1099511627776);
  matmul.bytes = Bytes(402653184);
  matmul.verified = true;
  matmul.median = Seconds(1.395e-3);
  device.measured.push_back(matmul);
  matmul.verified = false;  // what was not verified counts nowhere
  matmul.median = Seconds(1e-6);
  device.measured.push_back(matmul);
  // A copy says itself whether a cache held it; of one that does not, its size tells. 3 and 2, 5 and 4 TB/s.
  const auto copy = [&](const char* state, Count bytes, double seconds) {
    MeasuredWorkload w;
    w.workload = "copy";
    w.state = state;
    w.bytes = Bytes(bytes);
    w.verified = true;
    w.median = Seconds(seconds);
    device.measured.push_back(w);
  };
  copy("cold", 3'000'000, 1e-6);
  copy("", 2'000'000'000, 1e-3);
  copy("cached", 5'000'000'000, 1e-3);
  copy("", 4'000'000, 1e-6);
  std::map<std::string, double> rates;
  for (const Ceiling& ceiling : ceilings(device))
    rates[ceiling.name] = ceiling.compute ? ceiling.compute->value() : ceiling.memory->value();
  CHECK(rates.at("bf16 peak") == Approx(989.4e12));
  CHECK(rates.at("memory bandwidth") == Approx(4.8e12));
  CHECK(rates.at("bf16 measured") == Approx(1099511627776 / 1.395e-3));
  CHECK(rates.at("memory measured") == Approx(3e12));
  CHECK(rates.at("L2 cache measured") == Approx(5e12));
  device.l2.reset();  // then nothing is known to fit
  for (const Ceiling& ceiling : ceilings(device))
    if (ceiling.name == "memory measured") CHECK(ceiling.memory->value() == Approx(4e12));
  CHECK(device_roofline(device).measured.size() == 1);
}
