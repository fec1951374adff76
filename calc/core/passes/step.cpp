#include "core/passes/step.hpp"

#include <algorithm>

#include "core/adapters.hpp"

namespace llmcalc {
namespace {

// Temporaries of the optimizer's step, most of which are alive for a moment only.
class StepTemporaries {
 public:
  explicit StepTemporaries(OptimizerStep step) : step_(step) {}

  void visit(const OptimizerCost& cost, Count n) {
    if (step_ == OptimizerStep::foreach_ && !cost.alone) {
      all_ += cost.foreach_temporaries * n;
      one_ = std::max(one_, cost.foreach_one);
    } else if (step_ == OptimizerStep::single || (cost.alone && step_ != OptimizerStep::in_backward)) {
      const Bytes before = n > 1 ? std::max(left_, cost.single_left) : left_;
      single_ = std::max(single_, before + cost.single_temporaries);
      left_ = cost.single_left;
    }
  }

  Bytes peak() const { return std::max(all_ + one_, single_); }

 private:
  OptimizerStep step_;
  Bytes all_, one_;      // as foreach
  Bytes single_, left_;  // one at a time: the most so far, and what the last tensor's turn left alive
};

// What each parameter's step needs for a moment when a hook steps it alone, as PyTorch's tutorial on steps in the
// backward pass does (an optimizer per parameter, foreach=False).
std::vector<Bytes> steps_alone(const Parameters& parameters, const StepPlan& plan) {
  std::vector<Bytes> needs;
  needs.reserve(parameters.all().size());
  for (const Parameter& p : parameters.all()) {
    const bool steps = p.trainable && !plan.optimizer->own_kernel;
    needs.push_back(steps ? step_cost(p, plan).single_temporaries : Bytes(0));
  }
  return needs;
}

// Shows a log the lists of temporaries that a foreach step makes, tensor by tensor.
void log_lists(Trace& t, const Parameters& parameters, const StepPlan& plan) {
  if (plan.optimizer->own_kernel) return;
  AllocationLog& log = *t.ledger.log;
  std::vector<char> keys;  // addresses stand for storages
  Count tensors = 0;
  for (const Parameter& p : parameters.all())
    if (p.trainable) tensors += parameters.tensors(p);
  keys.resize(static_cast<std::size_t>(tensors));
  std::size_t next = 0;
  for (const Parameter& p : parameters.all()) {
    if (!p.trainable) continue;
    const Bytes bytes = step_cost(p, plan).foreach_temporaries;
    for (Count i = parameters.tensors(p); i > 0; --i) log.born(&keys[next++], bytes);
  }
  for (const char& key : keys) log.died(&key);
}

// The optimizer's step: what it needs at once, and what it moves.
void step_optimizer(Trace& t, const Model& model, const StepPlan& plan) {
  const Parameters& parameters = parameters_of(model, plan);
  const bool own_kernel = plan.optimizer->own_kernel;
  const bool fused = plan.optimizer_step == OptimizerStep::fused || own_kernel;
  Bytes read, written;
  for (const Parameter& p : parameters.all()) {
    if (!p.trainable) continue;
    const Count n = parameters.tensors(p);
    const OptimizerCost cost = step_cost(p, plan);
    read += (fused ? cost.read : cost.foreach_read) * n;
    written += (fused ? cost.written : cost.foreach_written) * n;
  }
  t.ledger.enter(Phase::optimizer);
  if (t.ledger.log && plan.optimizer_step == OptimizerStep::foreach_) log_lists(t, parameters, plan);
  AllocationLog* const log = std::exchange(t.ledger.log, nullptr);
  const Bytes temporaries = optimizer_temporaries(model, plan);
  if (temporaries > Bytes(0)) const Storage alive(&t.ledger, Part::temporaries, temporaries);
  t.ledger.log = log;
  if (read == Bytes(0)) return;
  Launch& launch = t.launch(Op::optimizer, plan.precision->stepped(), {}, {});
  launch.pass = Pass::optimizer;
  launch.read = read;
  launch.written = written;
}

}  // namespace

DType weight_dtype(const Parameter& p, const Precision& precision) {
  return p.always_float32 ? DType::float32 : p.stored.value_or(precision.weight);
}

Bytes weight_bytes(const Parameter& p, const Precision& precision) {
  return p.quantised ? packed_4bit(llmcalc::elements(p.shape))
                     : size_of(weight_dtype(p, precision)) * llmcalc::elements(p.shape);
}

DType gradient_dtype(const Parameter& p, const Precision& precision) {
  return p.always_float32 ? DType::float32 : precision.gradient;
}

std::optional<DType> master_dtype(const Parameter& p, const Precision& precision) {
  return p.always_float32 ? std::nullopt : precision.master;
}

DType stepped_dtype(const Parameter& p, const Precision& precision) {
  return p.always_float32 ? DType::float32 : precision.stepped();
}

OptimizerCost step_cost(const Parameter& p, const StepPlan& plan) {
  return plan.optimizer->cost(p.shape, stepped_dtype(p, *plan.precision), p.role);
}

const Parameters& parameters_of(const Model& model, const StepPlan& plan) {
  return plan.adapted ? plan.adapted->parameters : model.parameters_for(plan.job);
}

void visit_weights(const Model& model, const StepPlan& plan, const std::function<void(Bytes, Count)>& visit) {
  const Parameters& parameters = parameters_of(model, plan);
  for (const Parameter& p : parameters.all()) {
    const Count n = parameters.tensors(p);
    visit(weight_bytes(p, *plan.precision), n);
    if (const std::optional<DType> master = master_dtype(p, *plan.precision); master && p.trainable)
      visit(size_of(*master) * llmcalc::elements(p.shape), n);
  }
}

void visit_gradients(const Model& model, const StepPlan& plan, const std::function<void(Bytes, Count)>& visit) {
  const Parameters& parameters = parameters_of(model, plan);
  for (const Parameter& p : parameters.all())
    if (p.trainable)
      visit(size_of(gradient_dtype(p, *plan.precision)) * llmcalc::elements(p.shape), parameters.tensors(p));
}

void visit_states(const Model& model, const StepPlan& plan, const std::function<void(Bytes, Count)>& visit) {
  const Parameters& parameters = parameters_of(model, plan);
  for (const Parameter& p : parameters.all()) {
    if (!p.trainable) continue;
    const OptimizerCost cost = step_cost(p, plan);
    visit(cost.states, parameters.tensors(p));
  }
}

Bytes optimizer_temporaries(const Model& model, const StepPlan& plan) {
  StepTemporaries temporaries(plan.optimizer_step);
  if (plan.optimizer->own_kernel) return {};
  const Parameters& parameters = parameters_of(model, plan);
  for (const Parameter& p : parameters.all())
    if (p.trainable) temporaries.visit(step_cost(p, plan), parameters.tensors(p));
  return temporaries.peak();
}

StateSizes state_sizes(const Model& model, const StepPlan& plan) {
  StateSizes sizes;
  const bool counters_on_device = plan.optimizer_step == OptimizerStep::fused && plan.optimizer->has_fused;
  const Parameters& parameters = parameters_of(model, plan);
  for (const Parameter& p : parameters.all()) {
    const Count n = parameters.tensors(p);
    sizes.parameters += weight_bytes(p, *plan.precision) * n;
    if (!p.trainable) continue;
    const Bytes gradient = size_of(gradient_dtype(p, *plan.precision)) * llmcalc::elements(p.shape);
    if (plan.optimizer_step == OptimizerStep::in_backward)
      sizes.gradients = std::max(sizes.gradients, gradient);  // one at a time
    else
      sizes.gradients += gradient * n;
    if (const std::optional<DType> master = master_dtype(p, *plan.precision))
      sizes.master_weights += size_of(*master) * checked::multiply(llmcalc::elements(p.shape), n);
    const OptimizerCost cost = step_cost(p, plan);
    sizes.optimizer_states += (counters_on_device ? cost.states + cost.counters : cost.states) * n;
  }
  for (const Buffer& buffer : parameters.buffers()) sizes.buffers += buffer.bytes;
  return sizes;
}

TracedStep trace_step(const Model& model, const StepPlan& plan, AllocationLog* log, std::size_t* optimizer_begins,
                      std::vector<AllocatedRecord>* made) {
  const Parameters& parameters = parameters_of(model, plan);
  TraceSettings settings;
  settings.autocast = plan.precision->autocast;
  settings.fused_kernels = plan.job.implementation != Implementation::transformers;
  settings.gradients_exist = plan.accumulate > 1 || plan.precision->gradients_persist;
  std::vector<Bytes> alone;
  if (plan.optimizer_step == OptimizerStep::in_backward) {
    alone = steps_alone(parameters, plan);
    settings.steps_in_backward = &alone;
  }
  std::vector<LeafSpec> leaves;
  leaves.reserve(parameters.all().size());
  for (const Parameter& p : parameters.all())
    leaves.push_back({p.shape, weight_dtype(p, *plan.precision), p.trainable});

  TracedStep step{Trace(settings, std::move(leaves)), state_sizes(model, plan), {}};
  Trace& t = step.trace;
  if (plan.adapted) t.adapters = plan.adapted->adapters;
  t.ledger.allocate(Part::parameters, step.states.parameters);
  t.ledger.allocate(Part::master_weights, step.states.master_weights);
  t.ledger.allocate(Part::optimizer_states, step.states.optimizer_states);
  t.ledger.allocate(Part::buffers, step.states.buffers);
  if (settings.gradients_exist) t.ledger.allocate(Part::gradients, step.states.gradients);

  // Token ids and labels: one int64 buffer, there before the step and after it.
  step.inputs = size_of(DType::int64) * checked::multiply(plan.job.batch, plan.job.seq);
  t.ledger.log = log;
  t.made = made;
  const Storage inputs(&t.ledger, Part::inputs, step.inputs);
  std::uint64_t loss_begins = 0;
  Tensor loss = model.forward(t, plan.job, loss_begins);
  t.backward(std::move(loss), loss_begins);
  if (log && optimizer_begins) *optimizer_begins = log->events().size();
  t.settings.steps_in_backward = nullptr;
  step_optimizer(t, model, plan);
  t.made = nullptr;
  t.ledger.log = nullptr;
  return step;
}

}  // namespace llmcalc
