#include "core/passes/step.hpp"

#include <algorithm>

namespace llmcalc {
namespace {

DType weight_dtype(const Parameter& p, const Precision& precision) {
  return p.always_float32 ? DType::float32 : precision.weight;
}
DType gradient_dtype(const Parameter& p, const Precision& precision) {
  return p.always_float32 ? DType::float32 : precision.gradient;
}
DType stepped_dtype(const Parameter& p, const Precision& precision) {
  return p.always_float32 ? DType::float32 : precision.stepped();
}

// The optimizer's step: what it needs at once, and what it moves.
void step_optimizer(Trace& t, const Model& model, const StepPlan& plan) {
  Bytes at_once, largest, read, written;
  const bool fused = plan.optimizer_step == OptimizerStep::fused;
  Count elements = 0;
  for (const Parameter& p : model.parameters.all()) {
    if (!p.trainable) continue;
    const Count n = checked::multiply(p.copies, model.parameters.instances(p));
    const OptimizerCost cost = plan.optimizer->cost(p.shape, stepped_dtype(p, *plan.precision));
    at_once += cost.foreach_temporaries * n;
    largest = std::max(largest, cost.single_temporaries);
    read += (fused ? cost.read : cost.foreach_read) * n;
    written += (fused ? cost.written : cost.foreach_written) * n;
    elements += llmcalc::elements(p.shape) * n;
  }
  t.ledger.enter(Phase::optimizer);
  if (plan.optimizer_step == OptimizerStep::foreach_ && at_once > Bytes(0)) {
    const Storage temporaries(&t.ledger, Part::temporaries, at_once);
  } else if (plan.optimizer_step == OptimizerStep::single && largest > Bytes(0)) {
    const Storage temporaries(&t.ledger, Part::temporaries, largest);
  }
  if (read == Bytes(0)) return;
  Launch& launch = t.launch(Op::optimizer, plan.precision->stepped(), {}, {});
  launch.pass = Pass::optimizer;
  launch.read = read;
  launch.written = written;
}

}  // namespace

StateSizes state_sizes(const Model& model, const StepPlan& plan) {
  StateSizes sizes;
  for (const Parameter& p : model.parameters.all()) {
    const Count n = checked::multiply(p.copies, model.parameters.instances(p));
    const Count elements = checked::multiply(llmcalc::elements(p.shape), n);
    sizes.parameters += size_of(weight_dtype(p, *plan.precision)) * elements;
    if (!p.trainable) continue;
    sizes.gradients += size_of(gradient_dtype(p, *plan.precision)) * elements;
    if (plan.precision->master && !p.always_float32) sizes.master_weights += size_of(*plan.precision->master) * elements;
    sizes.optimizer_states += plan.optimizer->cost(p.shape, stepped_dtype(p, *plan.precision)).states * n;
  }
  for (const Buffer& buffer : model.parameters.buffers()) sizes.buffers += buffer.bytes;
  return sizes;
}

TracedStep trace_step(const Model& model, const StepPlan& plan) {
  TraceSettings settings;
  settings.autocast = plan.precision->autocast;
  settings.gradients_exist = plan.accumulate > 1 || plan.precision->gradients_persist;
  std::vector<LeafSpec> leaves;
  leaves.reserve(model.parameters.all().size());
  for (const Parameter& p : model.parameters.all())
    leaves.push_back({p.shape, weight_dtype(p, *plan.precision), p.trainable});

  TracedStep step{Trace(settings, std::move(leaves)), state_sizes(model, plan), {}};
  Trace& t = step.trace;
  t.ledger.allocate(Part::parameters, step.states.parameters);
  t.ledger.allocate(Part::master_weights, step.states.master_weights);
  t.ledger.allocate(Part::optimizer_states, step.states.optimizer_states);
  t.ledger.allocate(Part::buffers, step.states.buffers);
  if (settings.gradients_exist) t.ledger.allocate(Part::gradients, step.states.gradients);

  // Token ids and labels: one int64 buffer, there before the step and after it.
  step.inputs = size_of(DType::int64) * checked::multiply(plan.job.batch, plan.job.seq);
  const Storage inputs(&t.ledger, Part::inputs, step.inputs);
  std::uint64_t loss_begins = 0;
  Tensor loss = model.forward(t, plan.job, loss_begins);
  t.backward(std::move(loss), loss_begins);
  step_optimizer(t, model, plan);
  return step;
}

}  // namespace llmcalc
