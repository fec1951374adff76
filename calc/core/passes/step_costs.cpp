#include "core/passes/step_costs.hpp"

#include <algorithm>

namespace llmcalc {
namespace {

bool steps_in_backward(const StepPlan& plan) { return plan.optimizer_step == OptimizerStep::in_backward; }

// Whether all but the optimizer is the same, and that is no part of the passes.
bool same_passes(const StepPlan& a, const StepPlan& b) {
  if (steps_in_backward(a) != steps_in_backward(b) || (steps_in_backward(a) && a.optimizer != b.optimizer))
    return false;
  return a.job == b.job && a.adapted == b.adapted && a.precision == b.precision &&
         (a.accumulate > 1) == (b.accumulate > 1);
}

}  // namespace

StepCosts::StepCosts(const Model& model, const StepPlan& plan, const TracedStep& step) : model_(model) {
  add(plan, step);
}

const StepCosts::Traced& StepCosts::add(const StepPlan& plan, const TracedStep& step) {
  const Ledger& ledger = step.trace.ledger;
  Traced traced{plan, {}, {}, {}};
  for (const Phase phase : {Phase::forward, Phase::loss, Phase::backward})
    traced.passes = std::max(traced.passes, ledger.peak(phase).total - step.states.optimizer_states);
  traced.left =
      ledger.peak(Phase::optimizer).total - optimizer_temporaries(model_, plan) - step.states.optimizer_states;
  for (const Launch& launch : step.trace.tape())
    if (is_matrix_product(launch.op)) traced.executed += executed_flops(launch, AttentionCounting::causal);
  return traced_.emplace_back(std::move(traced));
}

const StepCosts::Traced& StepCosts::traced(const StepPlan& plan) {
  for (const Traced& known : traced_)
    if (same_passes(known.plan, plan)) return known;
  return add(plan, trace_step(model_, plan));
}

Bytes StepCosts::peak(const StepPlan& plan) {
  const Traced& passes = traced(plan);
  return std::max(passes.passes, passes.left + optimizer_temporaries(model_, plan)) +
         state_sizes(model_, plan).optimizer_states;
}

Flops StepCosts::executed(const StepPlan& plan) { return traced(plan).executed; }

}  // namespace llmcalc
