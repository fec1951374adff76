#include "core/check.hpp"

#include <algorithm>
#include <cmath>

#include "core/passes/rates.hpp"
#include "core/quantity.hpp"
#include "core/resolve.hpp"
#include "core/step_operations.hpp"

namespace llmcalc {
namespace {

// The goal set for single operations (15 % at the median) and what two runs of one protocol may differ by on a shared
// machine, together.
constexpr double agreement = 0.25;
// Axes below this leave most of a matrix unit idle.
constexpr Count small_axis = 64;
constexpr Count even_rows = 16;  // bytes

constexpr const char* what_predicts = "measure without --only, or with --only matmul,copy,step";

std::string label_of(const StepOperation& operation) {
  const Launch& l = operation.launch;
  std::string label = (operation.where.empty() ? "" : operation.where + " ") + std::string(name_of(l.op));
  if (l.attention.length > 0) {
    const AttentionShape& s = l.attention;
    label += " " + std::to_string(s.batch * s.heads) + "x" + std::to_string(s.length) + "x" + std::to_string(s.qk_size);
  } else if (l.m > 0) {
    label += " " + (l.batch > 1 ? std::to_string(l.batch) + "x" : std::string()) + std::to_string(l.m) + "x" +
             std::to_string(l.n) + "x" + std::to_string(l.k);
    if (l.a_turned || l.b_turned) label += " " + std::string(layout_of(l));
  } else {
    label += " " + format_gb(l.read + l.written);
  }
  return label;
}

// The device with the harness's own workloads alone, and without products that happen to have a tested shape.
Device calibration_only(const Device& device, const std::vector<StepOperation>& operations) {
  Device kept = device;
  const auto tested = [&](const MeasuredWorkload& w) {
    if (!w.op.empty()) return true;
    const auto size = [&](const char* name) {
      const auto found = w.dimensions.find(name);
      return found == w.dimensions.end() ? Count{1} : found->second;
    };
    if (w.is_attention()) {
      return std::any_of(operations.begin(), operations.end(),
                         [&](const StepOperation& o) { return is_attention_of(w, o.launch); });
    }
    if (w.workload != "matmul") return false;
    return std::any_of(operations.begin(), operations.end(), [&](const StepOperation& o) {
      return o.launch.m == size("m") && o.launch.n == size("n") && o.launch.k == size("k") &&
             o.launch.batch == size("batch");
    });
  };
  kept.measured.erase(std::remove_if(kept.measured.begin(), kept.measured.end(), tested), kept.measured.end());
  return kept;
}

std::string bound_of(const LaunchTime& time, Seconds launch_cost) {
  if (time.longer() < launch_cost) return "launch";
  return time.compute > time.memory ? "compute" : "memory";
}

// Why a measurement left the band. What the measurement says about itself comes first.
std::string reason_of(const CheckedOperation& o, const MeasuredWorkload& w, const Launch& l, const Device& device,
                      const Rates& rates) {
  if (o.within) return "";
  const bool slower = o.ratio > 1;
  if (w.stop.find("half-way") != std::string::npos) return "the device changed while it was measured: " + w.stop;
  if (w.noisy || 2 * w.disturbed > w.samples) {
    std::string why = "noisy machine: the median is sure to " + format_percent(w.noise);
    if (w.disturbed > 0)
      why += ", " + std::to_string(w.disturbed) + " of " + std::to_string(w.samples) + " samples disturbed";
    return why;
  }
  if (o.bound == "launch") return "launch-bound: it takes less time than starting it";
  if (is_fused_attention(l.op)) {
    if (!rates.measured_attention(l)) return "no fused attention was measured: a published share of the peak stands in";
    return std::string("the nearest attention measured was ") + (slower ? "an easier one" : "a harder one");
  }
  if (l.m > 0 && std::min({l.m, l.n, l.k}) < small_axis)
    return "a small product: an axis below " + std::to_string(small_axis) + " leaves units idle";
  if (l.m > 0 && l.row_alignment < even_rows)
    return "unaligned rows: they start at multiples of " + std::to_string(l.row_alignment) + " bytes";
  if (device.l2 && l.read + l.written < *device.l2 && !slower)
    return "it fits in the cache, which the prediction does not count on";
  if (l.m > 0)
    return slower ? "the nearest shape measured was an easier one" : "the nearest shape measured was a harder one";
  if (slower && l.elementwise > 0 && o.bound == "memory")
    return "its arithmetic takes longer than its data: exponentials or divisions";
  if (l.op == Op::sum) return "it only reads, which is faster than the copy the prediction is made from";
  return slower ? "slower than the copy the prediction is made from"
                : "faster than the copy the prediction is made from";
}

double quantile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  const double place = share * static_cast<double>(values.size() - 1);
  const std::size_t below = static_cast<std::size_t>(place), above = std::min(below + 1, values.size() - 1);
  return values[below] + (values[above] - values[below]) * (place - static_cast<double>(below));
}

}  // namespace

std::string job_in_words(const std::string& model, const ResolvedRun& run) {
  std::string words = model + ": batch " + std::to_string(run.batch) + ", seq " + std::to_string(run.seq) + ", " +
                      run.precision + ", " + run.optimizer + ", attention " + run.attention;
  if (run.mode == "infer") words += ", inference";
  if (run.accumulate > 1) words += ", " + std::to_string(run.accumulate) + " micro-batches";
  if (!run.recompute.empty() && run.recompute != "none") words += ", recompute " + run.recompute;
  for (const auto& [kind, given] :
       {std::pair{"lora", run.lora}, {"dora", run.dora}, {"qlora", run.qlora}, {"freeze", run.freeze}})
    if (given) words += std::string(", ") + kind + " " + *given;
  return words;
}

CheckReport check_estimate(const ModelSource& source, const Device& device, const RunOptions& options) {
  if (!source.model)
    throw Error(Exit::bad_input, source.name + " is known only by its size, and has no operations to check");
  if (device.measured.empty())
    throw Error(Exit::bad_input, device.name + ": nothing was measured there",
                "llmcalc measure --model MODEL writes such a profile");
  const Resolved resolved = resolve(options, source, &device);
  const TracedStep step = trace_step(*source.model, resolved.plan);
  const std::vector<StepOperation> operations = distinct_operations(step.trace, resolved.plan.accumulate);
  const Device calibration = calibration_only(device, operations);
  const Rates rates(calibration, resolved.plan, resolved.counting);
  if (!rates.why_not.empty()) throw Error(Exit::bad_input, "no prediction: " + rates.why_not, what_predicts);
  if (rates.basis != "measured")
    throw Error(Exit::bad_input,
                device.source +
                    ": the measurements predict nothing for this recipe: there is no verified product in its "
                    "number format, or no copy outside the cache",
                what_predicts);

  CheckReport report;
  report.model = source.name;
  report.device = device.name;
  report.job = job_in_words(source.name, resolved.run);
  report.band = agreement;
  std::vector<double> errors;
  double covered = 0, uncovered = 0;
  for (const StepOperation& operation : operations) {
    CheckedOperation o;
    o.operation = label_of(operation);
    o.times = operation.times;
    const LaunchTime time = rates.expected(operation.launch);
    o.predicted = time.longer();
    o.bound = bound_of(time, rates.launch_cost);
    if (!(o.predicted > Seconds(0))) continue;  // views and the like
    const double times = static_cast<double>(o.times);
    const auto found = std::find_if(device.measured.begin(), device.measured.end(), [&](const MeasuredWorkload& w) {
      return w.verified && w.median > Seconds(0) &&
             is_measurement_of(w, operation.launch, resolved.plan.precision->tf32);
    });
    if (found == device.measured.end()) {
      o.reason = "not measured";
      if (is_fused_attention(operation.launch.op) && device.compute_capability)
        o.reason += ": a fused kernel comes from cuDNN or a framework, and `measure` opens neither";
      uncovered += o.predicted.value() * times;
    } else {
      o.measured = found->median;
      o.ratio = found->median / o.predicted;
      o.within = o.ratio <= 1 + agreement && o.ratio >= 1 / (1 + agreement);
      o.reason = reason_of(o, *found, operation.launch, device, rates);
      errors.push_back(std::abs(o.ratio - 1));
      covered += found->median.value() * times;
      report.predicted_step += o.predicted * times;
      report.measured_step += found->median * times;
    }
    report.operations.push_back(std::move(o));
  }
  if (covered + uncovered > 0) report.covered = covered / (covered + uncovered);
  if (!errors.empty()) {
    report.median_error = quantile(errors, 0.5);
    report.p95_error = quantile(errors, 0.95);
  }
  const auto weight = [](const CheckedOperation& o) {
    return o.measured.value_or(o.predicted).value() * static_cast<double>(o.times);
  };
  std::stable_sort(report.operations.begin(), report.operations.end(),
                   [&](const CheckedOperation& a, const CheckedOperation& b) { return weight(a) > weight(b); });
  return report;
}

}  // namespace llmcalc
