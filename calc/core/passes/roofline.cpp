#include "core/passes/roofline.hpp"

#include <algorithm>
#include <tuple>

#include "core/passes/kernels.hpp"

namespace llmcalc {
namespace {

// Measured rates by what they are of: the best verified product of each dtype, the best copy in memory and in cache.
void add_measured(const Device& device, std::vector<Ceiling>& all) {
  std::map<std::string, FlopsPerSecond> products;
  std::optional<BytesPerSecond> memory, cache;
  for (const MeasuredWorkload& w : device.measured) {
    if (!w.verified || !(w.median > Seconds(0))) continue;
    if (w.workload == "matmul" && w.flops > Flops(0)) {
      FlopsPerSecond& best = products[w.dtype];
      best = std::max(best, w.flops / w.median);
    } else if (w.workload == "copy" && w.bytes > Bytes(0)) {
      // Bytes count reading and writing, so the footprint is the same number.
      const bool in_cache = w.state.empty() ? device.l2 && w.bytes <= *device.l2 : w.state != "cold";
      std::optional<BytesPerSecond>& best = in_cache ? cache : memory;
      best = std::max(best.value_or(BytesPerSecond(0)), w.bytes / w.median);
    }
  }
  for (const auto& [dtype, rate] : products) all.push_back({dtype + " measured", dtype, rate, {}, true});
  if (memory) all.push_back({"memory measured", {}, {}, memory, true});
  if (cache) all.push_back({"L2 cache measured", {}, {}, cache, true});
}

}  // namespace

std::string_view name_of(Bound bound) { return bound == Bound::memory ? "memory" : "compute"; }

std::string_view name_of(Pass pass) {
  switch (pass) {
    case Pass::forward: return "forward";
    case Pass::backward: return "backward";
    case Pass::recompute: return "recompute";
    case Pass::optimizer: return "optimizer";
  }
  return "";
}

std::vector<Ceiling> ceilings(const Device& device) {
  std::vector<Ceiling> all;
  for (const auto& [key, rate] : device.peak) all.push_back({key + " peak", key, rate, {}, false});
  std::stable_sort(all.begin(), all.end(), [](const Ceiling& a, const Ceiling& b) { return *a.compute > *b.compute; });
  if (device.memory_bandwidth) all.push_back({"memory bandwidth", {}, {}, device.memory_bandwidth, false});
  add_measured(device, all);
  return all;
}

std::map<std::string, FlopsPerByte> ridge_points(const Device& device) {
  std::map<std::string, FlopsPerByte> ridges;
  if (!device.memory_bandwidth || !(*device.memory_bandwidth > BytesPerSecond(0))) return ridges;
  for (const auto& [key, rate] : device.peak) ridges.emplace(key, rate / *device.memory_bandwidth);
  return ridges;
}

RooflinePoint roofline_point(FlopsPerSecond peak, BytesPerSecond bandwidth, FlopsPerByte intensity) {
  RooflinePoint point{peak / bandwidth, intensity, peak, Bound::compute};
  const FlopsPerSecond fed(bandwidth.value() * intensity.value());
  if (fed < peak) {
    point.attainable = fed;
    point.bound = Bound::memory;
  }
  return point;
}

RooflineSteps operations_under_roof(const TracedStep& step, const Model& model, const StepPlan& plan,
                                    const Rates& rates, AttentionCounting counting) {
  struct Sum {
    RooflineOperation operation;
    Seconds compute, memory;
  };
  std::map<std::tuple<std::uint16_t, Op, Pass>, Sum> sums;
  RooflineSteps steps;
  for (const Launch& launch : step.trace.tape()) {
    const bool is_optimizer = launch.pass == Pass::optimizer;
    const Count times = is_optimizer ? 1 : plan.accumulate;
    Sum& sum = sums[{launch.module, launch.op, launch.pass}];
    RooflineOperation& o = sum.operation;
    o.module = step.trace.modules()[launch.module];
    o.op = launch.op;
    o.pass = launch.pass;
    const bool product = is_matrix_product(launch.op);
    if (product) o.dtype = peak_key_for(launch.dtype, plan.precision->tf32);
    o.flops += (product ? executed_flops(launch, counting) : Flops(launch.elementwise) * launch.repeat) * times;
    o.bytes += (launch.read + launch.written) * launch.repeat * times;
    const Count kernels = is_optimizer ? optimizer_kernels(model, plan) : kernels_of(launch) * times;
    o.count += is_optimizer ? kernels : launch.repeat * times;
    const LaunchTime least = rates.least(launch);
    sum.compute += least.compute * static_cast<double>(times);
    sum.memory += least.memory * static_cast<double>(times);
    o.time += least.longer() * static_cast<double>(times);
    o.expected +=
        rates.expected(launch).longer() * static_cast<double>(times) + rates.launch_cost * static_cast<double>(kernels);
  }
  for (auto& [key, sum] : sums) {
    sum.operation.bound = sum.compute > sum.memory ? Bound::compute : Bound::memory;
    steps.least += sum.operation.time;
    steps.expected += sum.operation.expected;
    steps.operations.push_back(std::move(sum.operation));
  }
  for (RooflineOperation& o : steps.operations) o.share = steps.least > Seconds(0) ? o.time / steps.least : 0;
  std::stable_sort(steps.operations.begin(), steps.operations.end(),
                   [](const RooflineOperation& a, const RooflineOperation& b) { return a.time > b.time; });
  return steps;
}

}  // namespace llmcalc
