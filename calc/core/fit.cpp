#include "core/fit.hpp"

#include <algorithm>
#include <cmath>

#include "core/adapters.hpp"
#include "core/attention_choice.hpp"
#include "core/blocks/attention.hpp"
#include "core/passes/device_memory.hpp"
#include "core/passes/inference.hpp"
#include "core/passes/step_costs.hpp"
#include "core/quantity.hpp"

namespace llmcalc {
namespace {

// Below this share of free memory a job is called tight on a device whose framework's share nobody has stated.
constexpr double tight_share = 0.10;
constexpr Count largest_batch_asked = 1 << 20, largest_context_asked = Count{1} << 31;

std::string percent_more(Flops before, Flops after) {
  const double share = 100 * (after.as_double() / before.as_double() - 1);
  return "+" + std::to_string(std::lround(share)) + " % FLOPs";
}

// Of n >= 2, above 1: a batch is taken apart without changing how many sequences a step sees.
Count smallest_divisor(Count n) {
  for (Count d = 2; d * d <= n; ++d)
    if (n % d == 0) return d;
  return n;
}

// One way to need less, and what it costs.
struct Change {
  std::string name, costs;  // one or more options with their values
  std::function<void(StepPlan&)> apply;
  bool counts_flops = false;     // the cost is what it computes once more
  bool eases_optimizer = false;  // also where the peak is the optimizer's step; the others ease activations alone
  bool trains_less = false;
};

// The cheapest first.
std::vector<Change> changes_for(const Model& model, const StepPlan& plan, const Device& device) {
  std::vector<Change> changes;
  if (plan.optimizer_step == OptimizerStep::foreach_ && !plan.optimizer->own_kernel) {
    if (plan.optimizer->has_fused)
      changes.push_back({"--optimizer-step fused", "nothing",
                         [](StepPlan& p) { p.optimizer_step = OptimizerStep::fused; }, false, true});
    else
      changes.push_back({"--optimizer-step single", "more kernel launches",
                         [](StepPlan& p) { p.optimizer_step = OptimizerStep::single; }, false, true});
  }
  if (plan.job.loss.kind == LossForm::Kind::plain)
    changes.push_back(
        {"--loss fused", "another library's kernel", [](StepPlan& p) { p.job.loss = {LossForm::Kind::fused, 1}; }});
  if (plan.job.batch > 1) {
    const Count pieces = smallest_divisor(plan.job.batch), batch = plan.job.batch / pieces;
    const Count accumulate = checked::multiply(plan.accumulate, pieces);
    changes.push_back({"--batch " + std::to_string(batch) + " --accumulate " + std::to_string(accumulate),
                       "smaller matrix products", [=](StepPlan& p) {
                         p.job.batch = batch;
                         p.accumulate = accumulate;
                       }});
  }
  if (plan.job.recompute == Recompute::none) {
    if (plan.job.attention == AttentionKernel::eager || plan.job.attention == AttentionKernel::math)
      changes.push_back(
          {"--recompute selective", "", [](StepPlan& p) { p.job.recompute = Recompute::selective; }, true});
    changes.push_back({"--recompute full", "", [](StepPlan& p) { p.job.recompute = Recompute::full; }, true});
  }
  if (plan.optimizer->name == std::string_view("adamw") || plan.optimizer->name == std::string_view("adam"))
    changes.push_back({"--optimizer adamw-8bit", "moments rounded to 8 bits",
                       [](StepPlan& p) { p.optimizer = optimizer_named("adamw-8bit"); }, false, true});
  if (plan.precision->weight == DType::float32 && (device.peak.empty() || device.peak.count("bf16") != 0))
    changes.push_back({"--precision bf16", "weights and states rounded to 16 bits",
                       [](StepPlan& p) { p.precision = precision_named("bf16"); }, false, true});
  constexpr Count usual_rank = 16;
  if (!plan.adapted) {
    for (const bool quantised : {false, true})
      changes.push_back({std::string(quantised ? "--qlora" : "--lora") + " r=16,targets=all-linear",
                         quantised ? "trains adapters only, on a 4-bit base" : "trains adapters only",
                         [&model, quantised](StepPlan& p) {
                           p.adapted = std::make_shared<Adapted>(with_adapters(
                               model.parameters_for(p.job), {usual_rank, 0, {}, false}, quantised, *p.precision));
                         },
                         false, true, true});
  }
  return changes;
}

// Several changes as one command line: of an option named twice the last one counts.
class JoinedChanges {
 public:
  explicit JoinedChanges(StepPlan plan) : plan_(std::move(plan)) {}

  void add(const Change& change, const std::string& costs) {
    const auto same_option = [&](const Named& other) { return option_of(other.name) == option_of(change.name); };
    named_.erase(std::remove_if(named_.begin(), named_.end(), same_option), named_.end());
    named_.push_back({change.name, costs});
    change.apply(plan_);
  }
  const StepPlan& plan() const { return plan_; }
  bool several() const { return named_.size() > 1; }
  std::string names() const { return joined(&Named::name, " "); }
  std::string costs() const { return joined(&Named::costs, "; "); }

 private:
  struct Named {
    std::string name, costs;
  };
  static std::string option_of(const std::string& name) { return name.substr(0, name.find(' ')); }
  std::string joined(std::string Named::*text, const char* between) const {
    std::string all;
    for (const Named& one : named_) all += (all.empty() ? "" : between) + one.*text;
    return all;
  }

  StepPlan plan_;
  std::vector<Named> named_;
};

struct Limits {
  Bytes capacity, tensors;  // what the device has; what is left of it for tensors
  FitReport report;
};

Limits judge(const MemoryReport& memory, const Device& device) {
  Limits limits;
  limits.capacity = device.usable_memory();
  const std::optional<FrameworkAllowance> allowance = framework_allowance(device);
  limits.tensors = limits.capacity - (allowance ? allowance->expected : Bytes(0));
  FitReport& fit = limits.report;
  fit.capacity = limits.capacity;
  const Bytes pool = memory.reserved.value_or(memory.peak);
  fit.headroom = limits.tensors.value() - pool.value();
  const bool surely = allowance ? pool + allowance->most <= limits.capacity
                                : static_cast<double>(fit.headroom) >= tight_share * limits.capacity.as_double();
  if (memory.peak > limits.tensors) {
    fit.verdict = Verdict::no;
    fit.headroom = limits.tensors.value() - memory.peak.value();
  } else {
    fit.verdict = surely ? Verdict::fits : Verdict::tight;
    if (pool > limits.tensors) {
      fit.headroom = limits.tensors.value() - memory.peak.value();
      fit.note = "the allocator's pool would grow to " + format_gib(pool) +
                 ": it has to give cached blocks back, which takes time";
    }
  }
  return limits;
}

// The verdict on a changed plan whose peak is known. The allocator's pool is simulated only where the tensors fit.
Verdict verdict_on(const Model& model, const StepPlan& plan, Bytes peak, const Device& device, Bytes limit) {
  if (peak > limit) return Verdict::no;
  AllocationLog log;
  std::size_t optimizer_begins = 0;
  trace_step(model, plan, &log, &optimizer_begins);
  MemoryReport memory;
  memory.peak = peak;
  memory.reserved = simulate_reserved(model, plan, log, optimizer_begins);
  return judge(memory, device).report.verdict;
}

std::vector<Advice> advise(const Model& model, const StepPlan& plan, StepCosts& costs, const MemoryReport& memory,
                           const Device& device, const Limits& limits) {
  const Bytes peak = memory.peak, limit = limits.tensors;
  const Verdict now = limits.report.verdict;
  std::vector<Advice> advice;
  JoinedChanges together(plan);
  bool one_helps = false;
  Bytes least = peak;
  for (const Change& change : changes_for(model, plan, device)) {
    // Fewer activations leave the optimizer's step as it is.
    if (memory.peak_phase == Phase::optimizer && !change.eases_optimizer) continue;
    // Training something else is the last resort.
    if (change.trains_less && one_helps) break;
    StepPlan changed = plan;
    change.apply(changed);
    const Bytes after = costs.peak(changed);
    if (after >= peak) continue;
    const std::string price =
        change.counts_flops ? percent_more(costs.executed(plan), costs.executed(changed)) : change.costs;
    const Verdict then = verdict_on(model, changed, after, device, limit);
    advice.push_back({change.name, peak - after, price, then});
    one_helps = one_helps || then < now;
    // The changes that leave what is trained alone, one after another, until the job fits.
    if (least <= limit || change.trains_less) continue;
    together.add(change, price);
    least = costs.peak(together.plan());
  }
  if (!one_helps && together.several() && least <= limit)
    advice.push_back(
        {together.names(), peak - least, together.costs(), verdict_on(model, together.plan(), least, device, limit)});
  return advice;
}

// A sequence length changes which kernel can run (a window no longer than it needs a mask): only lengths for which the
// plan's kernels stay what they are count.
bool same_masks(const Model& model, const Job& a, const Job& b) {
  return std::all_of(model.info.attention.begin(), model.info.attention.end(),
                     [&](const AttentionTraits& traits) { return needs_mask(a, traits) == needs_mask(b, traits); });
}

}  // namespace

Count largest_fitting(const std::function<Bytes(Count)>& bytes, Bytes limit, Count most) {
  Count fits = 0, too_many = most + 1;
  double at_fits = 0, slope = 0;
  for (Count n = 1; fits + 1 < too_many;) {
    const Count before = too_many - fits;
    const Bytes here = bytes(n);
    if (here <= limit) {
      if (fits > 0) slope = (here.as_double() - at_fits) / static_cast<double>(n - fits);
      fits = n;
      at_fits = here.as_double();
    } else {
      if (fits > 0) slope = (here.as_double() - at_fits) / static_cast<double>(n - fits);
      too_many = n;
    }
    if (fits == 0) return 0;
    // Where a straight line through the last two points meets the limit; at first, twice as many.
    Count next = 2 * fits;
    constexpr double far = 1e15;  // a Count, whatever the slope
    if (slope > 0) next = fits + static_cast<Count>(std::min((limit.as_double() - at_fits) / slope, far));
    // Where the curve is a cliff, its steps are tiny: halve what is left.
    const Count left = too_many - fits;
    if (left > before - before / 8 && too_many <= most) next = fits + left / 2;
    n = std::clamp(next, fits + 1, std::max(fits + 1, too_many - 1));
  }
  return fits;
}

FitReport judge_fit(const Model& model, const StepPlan& plan, const TracedStep& step, const MemoryReport& memory,
                    const Device& device) {
  Limits limits = judge(memory, device);
  StepCosts costs(model, plan, step);
  FitReport& fit = limits.report;
  if (!fit.note.empty() && !plan.expandable_segments) fit.note += "; --expandable-segments keeps it smaller";
  if (limits.tensors < Bytes(0)) return fit;
  const Bytes states =
      memory.parameters + memory.gradients + memory.master_weights + memory.optimizer_states + memory.buffers;
  if (states > limits.tensors) {
    fit.max_batch = 0;
    fit.note = "weights, gradients and optimizer states alone take " + format_gib(states) + ": no batch size helps";
    fit.advice = advise(model, plan, costs, memory, device, limits);
    return fit;
  }
  fit.max_batch = largest_fitting(
      [&](Count batch) {
        StepPlan changed = plan;
        changed.job.batch = batch;
        return costs.peak(changed);
      },
      limits.tensors, largest_batch_asked);
  if (plan.job.lengths.empty() && model.info.max_seq > 0)
    fit.max_seq = largest_fitting(
        [&](Count seq) {
          StepPlan changed = plan;
          changed.job.seq = seq;
          if (!same_masks(model, plan.job, changed.job)) return limits.tensors + Bytes(1);
          return costs.peak(changed);
        },
        limits.tensors, model.info.max_seq);
  if (fit.verdict == Verdict::fits) return fit;
  fit.advice = advise(model, plan, costs, memory, device, limits);
  return fit;
}

namespace {

// Nothing where the search ends before memory does: what is asked for does not grow, or hardly.
std::optional<Count> limit_of(const std::function<Bytes(Count)>& bytes, Bytes limit, Count most) {
  const Count found = largest_fitting(bytes, limit, most);
  return found < most ? std::optional(found) : std::nullopt;
}

}  // namespace

FitReport judge_inference(const Model& model, const StepPlan& plan, Count kv_bits, const MemoryReport& memory,
                          const Device& device) {
  Limits limits = judge(memory, device);
  FitReport& fit = limits.report;
  const Bytes weights = memory.parameters + memory.buffers;
  if (weights > limits.tensors) {
    fit.note = "the weights alone take " + format_gib(weights) + ": no batch size or context helps";
    return fit;
  }
  const auto peak_with = [&](Count Job::*size, Count n) {
    StepPlan changed = plan;
    changed.job.*size = n;
    return inference_peak(model, changed, kv_bits);
  };
  fit.max_batch =
      limit_of([&](Count batch) { return peak_with(&Job::batch, batch); }, limits.tensors, largest_batch_asked);
  const auto with_seq = [&](Count seq) { return peak_with(&Job::seq, seq); };
  fit.max_seq = model.info.max_seq > 0 ? largest_fitting(with_seq, limits.tensors, model.info.max_seq)
                                       : limit_of(with_seq, limits.tensors, largest_context_asked);
  return fit;
}

}  // namespace llmcalc
