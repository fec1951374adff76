#include "core/fit.hpp"

#include <algorithm>

#include "core/attention_choice.hpp"
#include "core/blocks/attention.hpp"
#include "core/passes/memory.hpp"

namespace llmcalc {
namespace {

// Below this share of free memory a job is called tight: an allocator's pool is larger than what tensors take, and the
// CUDA context and library workspaces are on the device too.
constexpr double tight_share = 0.10;
constexpr Count largest_batch_asked = 1 << 20;

Flops executed(const Model& model, const StepPlan& plan) {
  const TracedStep step = trace_step(model, plan);
  Flops sum;
  for (const Launch& l : step.trace.tape())
    if (is_matrix_product(l.op)) sum += executed_flops(l, AttentionCounting::causal);
  return sum;
}

std::string percent_more(Flops before, Flops after) {
  const double share = 100 * (after.as_double() / before.as_double() - 1);
  return "+" + std::to_string(static_cast<int>(share + 0.5)) + " % FLOPs";
}

// Changes worth trying, the cheapest first; each with what it costs.
std::vector<Advice> advise(const Model& model, const StepPlan& plan, Bytes peak, Bytes capacity) {
  std::vector<Advice> advice;
  const auto consider = [&](const StepPlan& changed, std::string change, std::string costs) {
    const Bytes after = peak_bytes(model, changed);
    if (after >= peak) return;
    advice.push_back({std::move(change), peak - after, std::move(costs), after <= capacity});
  };
  if (plan.optimizer_step == OptimizerStep::foreach_) {
    StepPlan changed = plan;
    changed.optimizer_step = OptimizerStep::fused;
    consider(changed, "--optimizer-step fused", "nothing");
  }
  if (plan.job.batch > 1) {
    StepPlan changed = plan;
    changed.job.batch = plan.job.batch / 2;
    changed.accumulate = plan.accumulate * 2;
    consider(changed, "--batch " + std::to_string(changed.job.batch) + " --accumulate " + std::to_string(changed.accumulate),
             "smaller matrix products");
  }
  if (plan.job.recompute == Recompute::none) {
    StepPlan changed = plan;
    changed.job.recompute = Recompute::full;
    const Bytes after = peak_bytes(model, changed);
    if (after < peak) consider(changed, "--recompute full", percent_more(executed(model, plan), executed(model, changed)));
  }
  if (plan.precision->weight == DType::float32) {
    StepPlan changed = plan;
    changed.precision = precision_named("bf16");
    consider(changed, "--precision bf16", "16-bit weights and states");
  }
  return advice;
}

// A sequence length changes which kernel can run (a window no longer than it needs a mask): only lengths for which the
// plan's kernels stay what they are count.
bool same_masks(const Model& model, const Job& a, const Job& b) {
  return std::all_of(model.info.attention.begin(), model.info.attention.end(), [&](const AttentionTraits& traits) {
    return needs_mask(a, traits) == needs_mask(b, traits);
  });
}

}  // namespace

Bytes peak_bytes(const Model& model, const StepPlan& plan) { return peak_of(trace_step(model, plan).trace.ledger).second; }

Count largest_fitting(const std::function<Bytes(Count)>& bytes, Bytes limit, Count most) {
  Count fits = 0, too_many = most + 1;
  double at_fits = 0, slope = 0;
  for (Count n = 1; fits + 1 < too_many;) {
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
    if (slope > 0) next = fits + static_cast<Count>((limit.as_double() - at_fits) / slope);
    n = std::clamp(next, fits + 1, std::max(fits + 1, too_many - 1));
  }
  return fits;
}

FitReport judge_fit(const Model& model, const StepPlan& plan, Bytes peak, const Device& device) {
  FitReport fit;
  fit.capacity = device.usable_memory();
  fit.headroom = fit.capacity.value() - peak.value();
  const double free_share = static_cast<double>(fit.headroom) / fit.capacity.as_double();
  fit.verdict = fit.headroom < 0 ? Verdict::no : free_share < tight_share ? Verdict::tight : Verdict::fits;
  fit.max_batch = largest_fitting(
      [&](Count batch) {
        StepPlan changed = plan;
        changed.job.batch = batch;
        return peak_bytes(model, changed);
      },
      fit.capacity, largest_batch_asked);
  if (plan.job.lengths.empty() && model.info.max_seq > 0)
    fit.max_seq = largest_fitting(
        [&](Count seq) {
          StepPlan changed = plan;
          changed.job.seq = seq;
          if (!same_masks(model, plan.job, changed.job)) return fit.capacity + Bytes(1);
          return peak_bytes(model, changed);
        },
        fit.capacity, model.info.max_seq);
  if (fit.verdict != Verdict::fits) fit.advice = advise(model, plan, peak, fit.capacity);
  return fit;
}

}  // namespace llmcalc
