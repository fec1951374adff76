#include "core/roofline.hpp"

#include <algorithm>

#include "core/passes/inference.hpp"
#include "core/resolve.hpp"

namespace llmcalc {
namespace {

constexpr std::string_view sweep = "intensity";  // the workload's name

std::vector<MeasuredPoint> measured_points(const Device& device) {
  std::vector<MeasuredPoint> points;
  for (const MeasuredWorkload& w : device.measured) {
    if (!w.verified || w.flops == Flops(0) || w.bytes == Bytes(0) || !(w.median > Seconds(0)) || w.span == "burst")
      continue;
    std::string name = w.workload + " " + w.dtype;
    for (const char* axis : {"m", "n", "k"}) {
      const auto found = w.dimensions.find(axis);
      if (found != w.dimensions.end()) name += (*axis == 'm' ? " " : "x") + std::to_string(found->second);
    }
    points.push_back({std::move(name), w.flops / w.bytes, w.flops / w.median, w.workload == sweep});
  }
  std::stable_sort(points.begin(), points.end(), [](const MeasuredPoint& a, const MeasuredPoint& b) {
    return a.sweep != b.sweep ? a.sweep : a.sweep && a.intensity < b.intensity;
  });
  return points;
}

}  // namespace

RooflineReport device_roofline(const Device& device) {
  RooflineReport report;
  report.device = device.name;
  report.ceilings = ceilings(device);
  report.ridge = ridge_points(device);
  report.measured = measured_points(device);
  report.bandwidth = device.memory_bandwidth;
  return report;
}

RooflineReport job_roofline(const ModelSource& source, const Device& device, const RunOptions& options) {
  if (!source.model)
    throw Error(Exit::bad_input,
                source.source + ": the profile gives the size of the model alone, which has no operations",
                "describe the model by its architecture, as the built-in profiles do");
  const Resolved resolved = resolve(options, source, &device);
  const AttentionCounting counting = AttentionCounting::causal;  // what a causal kernel executes
  const Rates rates(device, resolved.plan, counting);
  if (!rates.why_not.empty())
    throw Error(Exit::bad_input, rates.why_not,
                "roofline needs the memory bandwidth and the peak of the precision; `llmcalc list "
                "devices` shows which devices have both");
  RooflineReport report = device_roofline(device);
  report.model = source.name;
  report.run = resolved.run;
  report.peak_key = std::string(resolved.plan.precision->peak_key());
  report.basis = rates.basis;
  report.rates = rates.source;
  try {
    const TracedStep step = trace_job(*source.model, resolved.plan);
    report.step = operations_under_roof(step, *source.model, resolved.plan, rates, counting);
    report.time = time_step(step, *source.model, resolved.plan, rates);
  } catch (const Overflow& overflow) {
    throw Error(Exit::bad_input, std::string("the job is too large to count exactly: ") + overflow.what(),
                "a smaller --batch, --seq or --accumulate");
  }
  return report;
}

}  // namespace llmcalc
