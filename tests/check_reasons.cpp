// llmcalc check: what it says about an operation whose measurement leaves the band, and what it cannot check.
#include "core/check.hpp"

#include <algorithm>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/passes/rates.hpp"
#include "core/step_operations.hpp"
#include "tests/catch.hpp"
#include "tests/support/jobs.hpp"
#include "tests/support/refusal.hpp"

using namespace llmcalc;
using namespace llmcalc::test;
using Catch::Matchers::ContainsSubstring;

namespace {

const std::vector<GivenOption> job{{"seq", "512"}, {"precision", "bf16"}, {"attention", "eager"}};

MeasuredWorkload workload(const char* name, double median) {
  MeasuredWorkload w;
  w.workload = name;
  w.verified = true;
  w.samples = 10;
  w.median = w.p5 = w.p95 = Seconds(median);
  return w;
}

// An H100 on which the harness measured a large product at 80 % of the peak, a copy at 3 TB/s and launches.
Device measured_device(double launch_cost = 1e-9) {
  Device device = built_in_device("h100-sxm");
  MeasuredWorkload product = workload("matmul", 2.0 * 8192 * 8192 * 8192 / 0.8e15);
  product.dtype = "bf16";
  product.dimensions = {{"m", 8192}, {"n", 8192}, {"k", 8192}};
  product.flops = Flops(Int128{2} * 8192 * 8192 * 8192);
  MeasuredWorkload copy = workload("copy", 6e9 / 3e12);
  copy.bytes = Bytes(6'000'000'000);
  device.measured = {product, copy, workload("launch", launch_cost)};
  return device;
}

MeasuredWorkload measurement_of(const Launch& launch, double median) {
  MeasuredWorkload w = workload("step", median);
  w.op = name_of(launch.op);
  w.dtype = "bf16";
  w.layout = layout_of(launch);
  w.dimensions = {{"read", launch.read.value()}, {"written", launch.written.value()}};
  if (launch.attention.length > 0) {
    const AttentionShape& s = launch.attention;
    w.dimensions.insert({{"batch", s.batch},
                         {"heads", s.heads},
                         {"kv_heads", s.kv_heads},
                         {"length", s.length},
                         {"qk_size", s.qk_size},
                         {"v_size", s.v_size}});
    w.flops = least_flops(launch);
  } else if (launch.m > 0) {
    const std::vector<std::pair<const char*, Count>> sizes{
        {"batch", launch.batch}, {"m", launch.m}, {"n", launch.n}, {"k", launch.k}};
    w.dimensions.insert(sizes.begin(), sizes.end());
  }
  return w;
}

CheckedOperation checked_operation(const Device& device, const std::vector<GivenOption>& given = job) {
  for (const CheckedOperation& o : check_estimate(built_in_model("gpt2"), device, options_of(given)).operations)
    if (o.measured) return o;
  throw std::runtime_error("nothing was measured");
}

// What is said of the first operation that `which` picks, when it takes `ratio` times what was predicted.
CheckedOperation said(const std::function<bool(const StepOperation&)>& which, double ratio,
                      const std::function<void(MeasuredWorkload&)>& tweak = {}, Device device = measured_device()) {
  static const TracedJob traced = traced_job("gpt2", "h100-sxm", job);
  for (const StepOperation& operation : distinct_operations(traced.step.trace, 1)) {
    if (!which(operation)) continue;
    device.measured.push_back(measurement_of(operation.launch, 1));
    const double predicted = checked_operation(device).predicted.value();
    device.measured.back() = measurement_of(operation.launch, ratio * predicted);
    if (tweak) tweak(device.measured.back());
    return checked_operation(device);
  }
  throw std::runtime_error("no such operation");
}

const std::vector<GivenOption> fused_job{{"seq", "512"}, {"precision", "bf16"}, {"attention", "flash"}};

// The attention of a step of `fused_job`: 12 heads of 64, causal.
Launch attention_launch() {
  static const TracedJob traced = traced_job("gpt2", "h100-sxm", fused_job);
  for (const StepOperation& operation : distinct_operations(traced.step.trace, 1))
    if (operation.launch.op == Op::attention_forward) return operation.launch;
  throw std::runtime_error("no attention");
}

// One that the harness measured by itself: `batch` times so many heads that there are 12, of `length` tokens.
MeasuredWorkload calibrating_attention(Count batch, Count length, double rate) {
  Launch launch = attention_launch();
  MeasuredWorkload w = measurement_of(launch, 1);
  w.workload = name_of(launch.op);
  w.op.clear();
  for (const char* heads : {"heads", "kv_heads"}) w.dimensions[heads] = 12 / batch;
  w.dimensions["batch"] = batch;
  w.dimensions["length"] = length;
  w.median = w.flops / FlopsPerSecond(rate);
  return w;
}

bool is_large_product(const StepOperation& o) { return o.launch.m == 512 && o.launch.n == 3072; }
bool has_odd_rows(const StepOperation& o) { return o.launch.n == 50257 && o.launch.row_alignment < 16; }

bool has_arithmetic(const StepOperation& o) { return o.launch.m == 0 && o.launch.elementwise > 0; }
bool is_sum(const StepOperation& o) { return o.launch.op == Op::sum; }

Device without_cache() {
  Device device = measured_device();
  device.l2.reset();
  return device;
}

}  // namespace

TEST_CASE("check: the band is 25 % either way") {
  for (const double ratio : {0.81, 1.0, 1.24}) {
    const CheckedOperation o = said(is_large_product, ratio);
    CHECK(o.ratio == Approx(ratio));
    CHECK(o.within);
    CHECK(o.reason.empty());
  }
  for (const double ratio : {0.79, 1.26}) CHECK_FALSE(said(is_large_product, ratio).within);
}

TEST_CASE("check: why an operation left the band") {
  CHECK(said(is_large_product, 2).reason == "the nearest shape measured was an easier one");
  CHECK_THAT(said(is_large_product, 0.5).reason, ContainsSubstring("fits in the cache"));
  CHECK(said(is_large_product, 0.5, {}, without_cache()).reason == "the nearest shape measured was a harder one");
  CHECK_THAT(said(has_odd_rows, 2).reason, ContainsSubstring("they start at multiples of 2 bytes"));
}

TEST_CASE("check: what a measurement says about itself comes first") {
  CHECK_THAT(said(is_large_product, 2, [](MeasuredWorkload& w) { w.stop = "clock changed half-way"; }).reason,
             ContainsSubstring("the device changed while it was measured: clock changed half-way"));
  CHECK(said(is_large_product, 2, [](MeasuredWorkload& w) {
          w.noisy = true;
          w.noise = 0.05;
        }).reason == "noisy machine: the median is sure to 5.0 %");
  CHECK(said(is_large_product, 2, [](MeasuredWorkload& w) { w.disturbed = 6; }).reason ==
        "noisy machine: the median is sure to 0.0 %, 6 of 10 samples disturbed");
  CHECK(said(is_large_product, 2, [](MeasuredWorkload& w) { w.disturbed = 5; }).reason ==
        "the nearest shape measured was an easier one");
  const CheckedOperation started = said(is_large_product, 2, {}, measured_device(1));
  CHECK(started.bound == "launch");
  CHECK_THAT(started.reason, ContainsSubstring("takes less time than starting it"));
}

TEST_CASE("check: operations that only move data") {
  CHECK_THAT(said(has_arithmetic, 2).reason, ContainsSubstring("its arithmetic takes longer than its data"));
  CHECK(said(has_arithmetic, 0.5, {}, without_cache()).reason == "faster than the copy the prediction is made from");
  CHECK_THAT(said(is_sum, 0.5, {}, without_cache()).reason, ContainsSubstring("it only reads"));
}

TEST_CASE("check: what predicts nothing is refused") {
  const auto refused = [](const ModelSource& model, const Device& device) {
    return refusal([&] { check_estimate(model, device, options_of({{"precision", "bf16"}, {"seq", "8"}})); });
  };
  const ModelSource gpt2 = built_in_model("gpt2");
  CHECK(refused(gpt2, measured_device()) == "accepted");
  ModelSource size;
  size.name = "a size";
  size.parameters = 1'000'000;
  CHECK_THAT(refused(size, measured_device()), ContainsSubstring("a size is known only by its size"));
  CHECK_THAT(refused(gpt2, built_in_device("h100-sxm")), ContainsSubstring("nothing was measured there"));
  Device device = measured_device();
  device.memory_bandwidth.reset();
  CHECK_THAT(refused(gpt2, device), ContainsSubstring("no prediction: NVIDIA H100 SXM5 80GB states no memory bandw"));
  // A product that is not verified, in another format, or of a burst; a copy that a cache may have held.
  const std::function<void(Device&)> spoil[] = {
      [](Device& d) { d.measured[0].verified = false; }, [](Device& d) { d.measured[0].dtype = "fp16"; },
      [](Device& d) { d.measured[0].span = "burst"; },   [](Device& d) { d.measured[0].median = Seconds(0); },
      [](Device& d) { d.measured[1].state = "cached"; }, [](Device& d) { d.measured[1].bytes = Bytes(1'000'000); }};
  for (const auto& change : spoil) {
    device = measured_device();
    change(device);
    CHECK_THAT(refused(gpt2, device), ContainsSubstring("the measurements predict nothing for this recipe"));
  }
}

TEST_CASE("check: how much of a step was measured") {
  const CheckReport none = check_estimate(built_in_model("gpt2"), measured_device(), options_of(job));
  CHECK(none.covered == 0);
  CHECK_FALSE(none.median_error.has_value());
  for (const CheckedOperation& o : none.operations) CHECK(o.reason == "not measured");
}

TEST_CASE("check: a measurement of a tested shape predicts nothing") {
  const auto predictions = [](const std::vector<GivenOption>& given, const Device& device) {
    std::vector<double> seconds;
    for (const CheckedOperation& o : check_estimate(built_in_model("gpt2"), device, options_of(given)).operations)
      seconds.push_back(o.predicted.value());
    std::sort(seconds.begin(), seconds.end());
    return seconds;
  };
  const auto with = [](MeasuredWorkload w) {
    Device device = measured_device();
    device.measured.push_back(std::move(w));
    return device;
  };
  // A thousand times faster than the large one: it would show. Batch 1 goes without saying.
  MeasuredWorkload product = measured_device().measured[0];
  product.dimensions = {{"m", 512}, {"n", 3072}, {"k", 768}};
  product.median = product.median / 1000;
  CHECK(predictions(job, with(product)) == predictions(job, measured_device()));
  for (const auto& [axis, length] : {std::pair{"m", 513}, {"n", 3073}, {"k", 769}, {"batch", 2}}) {
    MeasuredWorkload near = product;
    near.dimensions[axis] = length;
    INFO(axis);
    CHECK(predictions(job, with(near)) != predictions(job, measured_device()));
  }
  // The same heads are the same work, however many sequences they belong to.
  for (const Count batch : {1, 2})
    CHECK(predictions(fused_job, with(calibrating_attention(batch, 512, 1e18))) ==
          predictions(fused_job, measured_device()));
  CHECK(predictions(fused_job, with(calibrating_attention(1, 256, 1e18))) != predictions(fused_job, measured_device()));
}

TEST_CASE("check: why attention left the band") {
  const auto reason = [](Device device, double ratio) {
    device.measured.push_back(measurement_of(attention_launch(), 1));
    const double predicted = checked_operation(device, fused_job).predicted.value();
    device.measured.back() = measurement_of(attention_launch(), ratio * predicted);
    return checked_operation(device, fused_job).reason;
  };
  CHECK_THAT(reason(measured_device(), 2), ContainsSubstring("a published share of the peak stands in"));
  Device device = measured_device();
  device.measured.push_back(calibrating_attention(1, 256, 3e14));
  CHECK(reason(device, 2) == "the nearest attention measured was an easier one");
  CHECK(reason(device, 0.5) == "the nearest attention measured was a harder one");
  CHECK(reason(device, 1).empty());
}

TEST_CASE("check: a job says what decides which operations it has") {
  ResolvedRun run;
  run.batch = 2;
  run.seq = 64;
  run.precision = "fp32";
  run.optimizer = "adamw";
  run.attention = "flash";
  run.recompute = "none";
  CHECK(job_in_words("M", run) == "M: batch 2, seq 64, fp32, adamw, attention flash");
  run.mode = "infer";
  run.accumulate = 3;
  run.recompute = "full";
  run.lora = "r=8";
  run.freeze = "embedding";
  CHECK(
      job_in_words("M", run) ==
      "M: batch 2, seq 64, fp32, adamw, attention flash, inference, 3 micro-batches, recompute full, lora r=8, freeze "
      "embedding");
}

TEST_CASE("check: a measurement is an operation's when every size agrees") {
  static const TracedJob traced = traced_job("gpt2", "h100-sxm", job);
  std::vector<Launch> launches{attention_launch()};
  for (const StepOperation& operation : distinct_operations(traced.step.trace, 1))
    if (is_large_product(operation)) launches.push_back(operation.launch);
  REQUIRE(launches.size() > 1);
  for (const Launch& launch : launches) {
    const MeasuredWorkload same = measurement_of(launch, 1);
    CHECK(is_measurement_of(same, launch, false));
    for (const auto& [axis, length] : same.dimensions) {
      MeasuredWorkload other = same;
      other.dimensions[axis] = length + 1;
      INFO(axis);
      CHECK_FALSE(is_measurement_of(other, launch, false));
    }
    MeasuredWorkload other = same;
    other.dtype = "fp16";
    CHECK_FALSE(is_measurement_of(other, launch, false));
    other = same;
    other.op = name_of(Op::sum);
    CHECK_FALSE(is_measurement_of(other, launch, false));
    other = same;
    other.flops = other.flops + Flops(1);  // other pairs are scored; a product's follow from its sizes
    CHECK(is_measurement_of(other, launch, false) == (launch.m > 0));
  }
}
