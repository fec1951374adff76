#include "core/passes/time.hpp"

#include <algorithm>

#include "core/passes/kernels.hpp"

namespace llmcalc {
namespace {

// How far the rates may be off. Published: one device's large products differ by 730 to 855 around 794 TFLOP/s between
// methods alone (H100); copies reach 75 to 92 % where 88 % is usual. Measured: what is left between two runs.
struct Spread {
  double products_up, products_down, memory_up, memory_down;
};
constexpr Spread published{855.0 / 794.5, 730.0 / 794.5, 0.92 / 0.88, 0.75 / 0.88};
constexpr Spread measured{1.03, 0.95, 1.03, 0.95};
// Kernels replayed from a graph (te42kyfo/gpu-benches, H200: 1.3 us) instead of launched one by one (2.5 us).
constexpr double graph_of_stream = 1.3 / 2.5;
// One operation issued by eager PyTorch, at its slowest: a 64 cubed product took 14.8 us (pytorch/pytorch #194311).
constexpr double host_seconds_per_kernel = 14.8e-6;

enum Kind : std::size_t { products, attention, memory, optimizer, launching, kinds };
constexpr const char* kind_names[kinds] = {"matrix products", "attention", "memory traffic", "optimizer", "launching"};

Kind kind_of(const Launch& launch) {
  if (launch.pass == Pass::optimizer) return optimizer;
  if (launch.op == Op::attention_forward || launch.op == Op::attention_backward) return attention;
  return is_matrix_product(launch.op) ? products : memory;
}

}  // namespace

StepTime time_step(const TracedStep& step, const Model& model, const StepPlan& plan, const Rates& rates) {
  const Spread& spread = rates.basis == "measured" ? measured : published;
  StepTime time;
  Seconds sums[kinds];
  for (const Launch& launch : step.trace.tape()) {
    const bool is_optimizer = launch.pass == Pass::optimizer;
    const double times = is_optimizer ? 1 : static_cast<double>(plan.accumulate);
    const LaunchTime least = rates.least(launch), expected = rates.expected(launch);
    time.least += least.longer() * times;
    (least.compute > least.memory ? time.products_least : time.memory_least) += least.longer() * times;
    sums[kind_of(launch)] += expected.longer() * times;
    const LaunchTime fast{expected.compute / spread.products_up, expected.memory / spread.memory_up};
    const LaunchTime slow{expected.compute / spread.products_down, expected.memory / spread.memory_down};
    time.shortest += std::max(fast.longer(), least.longer()) * times;
    time.longest += slow.longer() * times;
    const Count kernels =
        is_optimizer ? optimizer_kernels(model, plan) : checked::multiply(kernels_of(launch), plan.accumulate);
    time.kernels = checked::add(time.kernels, kernels);
  }
  const double kernels = static_cast<double>(time.kernels);
  sums[launching] = rates.launch_cost * kernels;
  for (std::size_t kind = 0; kind < kinds; ++kind) {
    time.expected += sums[kind];
    if (sums[kind] > Seconds(0)) time.parts.emplace_back(kind_names[kind], sums[kind]);
  }
  time.shortest += rates.launch_cost * graph_of_stream * kernels;
  time.host_at_worst = Seconds(host_seconds_per_kernel * kernels);
  time.longest = std::max(time.longest + sums[launching], time.host_at_worst);
  return time;
}

}  // namespace llmcalc
