#include "core/passes/inference.hpp"

#include <algorithm>
#include <utility>

#include "core/adapters.hpp"

namespace llmcalc {
namespace {

constexpr Count bits_per_byte = 8;

// Elements a token takes in one layer.
Count elements_per_token(const AttentionTraits& traits) {
  return traits.latent_cache > 0 ? traits.latent_cache : traits.kv_heads * (traits.qk_size + traits.v_size);
}

Count tokens_kept(const AttentionTraits& traits, Count seq) {
  if (!traits.cached) return 0;
  if (!traits.cache_has_window) return seq;
  Count kept = seq;
  if (traits.window) kept = std::min(kept, *traits.window);
  if (traits.chunk) kept = std::min(kept, *traits.chunk);
  return kept;
}

}  // namespace

std::optional<Count> kv_bits(const std::string& name) {
  static const std::pair<const char*, Count> known[] = {{"fp32", 32}, {"bf16", 16}, {"fp16", 16}, {"fp8", 8},
                                                        {"int8", 8},  {"fp4", 4},   {"int4", 4}};
  for (const auto& [its_name, bits] : known)
    if (name == its_name) return bits;
  return std::nullopt;
}

Bytes kv_cache(const ModelInfo& info, Count seq, Count bits) {
  Bytes sum;
  for (const AttentionTraits& traits : info.attention) {
    const Count elements = checked::multiply(elements_per_token(traits), tokens_kept(traits, seq));
    sum += Bytes(ceil_div(checked::multiply(elements, bits), bits_per_byte)) * traits.layers;
  }
  return sum;
}

Bytes sequence_states(const ModelInfo& info, const Precision& precision) {
  const DType computes = precision.autocast.value_or(precision.weight);
  return size_of(computes) * info.recurrent.convolution + size_of(DType::float32) * info.recurrent.recurrence;
}

Bytes kv_per_token(const ModelInfo& info, Count bits) { return kv_cache(info, 1, bits); }

namespace {

// Forward, with weights and caches on the books. Weights ask for gradients, as they do in PyTorch unless told
// otherwise, which makes autocast keep its copies of them.
TracedStep trace_forward(const Model& model, const StepPlan& plan, Bytes cache, Bytes kept) {
  TraceSettings settings;
  settings.autocast = plan.precision->autocast;
  settings.fused_kernels = plan.job.implementation != Implementation::transformers;
  std::vector<LeafSpec> leaves;
  for (const Parameter& p : parameters_of(model, plan).all())
    leaves.push_back({p.shape, weight_dtype(p, *plan.precision), true});
  TracedStep step{Trace(settings, std::move(leaves)), state_sizes(model, plan), {}};
  Trace& t = step.trace;
  if (plan.adapted) t.adapters = plan.adapted->adapters;
  t.ledger.allocate(Part::parameters, step.states.parameters);
  t.ledger.allocate(Part::buffers, step.states.buffers);
  t.ledger.allocate(Part::kv_cache, cache);
  t.ledger.allocate(Part::sequence_states, kept);
  step.inputs = size_of(DType::int64) * checked::multiply(plan.job.batch, plan.job.seq);
  const Storage inputs(&t.ledger, Part::inputs, step.inputs);
  const Trace::NoGrad no_grad(t);
  std::uint64_t loss_begins = 0;
  model.forward(t, plan.job, loss_begins);
  return step;
}

StepPlan without_training(StepPlan plan) {
  plan.job.dropout = 0;
  plan.job.recompute = Recompute::none;
  return plan;
}

Bytes caches(const Model& model, const StepPlan& plan, Count bits) {
  return kv_cache(model.info, plan.job.seq, bits) * plan.job.batch;
}

Bytes all_sequence_states(const Model& model, const StepPlan& plan) {
  return sequence_states(model.info, *plan.precision) * plan.job.batch;
}

Peak prefill_peak(const Model& model, const StepPlan& given, Count bits) {
  StepPlan plan = without_training(given);
  plan.job.prefill = true;
  const TracedStep step = trace_forward(model, plan, caches(model, plan, bits), all_sequence_states(model, plan));
  return step.trace.ledger.peak(Phase::forward);
}

}  // namespace

Bytes inference_peak(const Model& model, const StepPlan& plan, Count bits) {
  return prefill_peak(model, plan, bits).total;
}

MemoryReport inference_memory(const Model& model, const StepPlan& plan, Count bits) {
  const StateSizes states = state_sizes(model, plan);
  MemoryReport memory;
  memory.parameters = states.parameters;
  memory.buffers = states.buffers;
  const Bytes cache = caches(model, plan, bits), kept = all_sequence_states(model, plan);
  if (cache > Bytes(0)) memory.kv_cache = cache;
  if (kept > Bytes(0)) memory.sequence_states = kept;
  const Peak peak = prefill_peak(model, plan, bits);
  memory.inputs = peak.parts[static_cast<std::size_t>(Part::inputs)];
  memory.peak = peak.total;
  memory.peak_phase = Phase::forward;
  PhaseReport forward{Phase::forward, memory.peak, {}};
  for (std::size_t i = 0; i < part_count; ++i)
    if (peak.parts[i] > Bytes(0)) forward.parts.emplace_back(static_cast<Part>(i), peak.parts[i]);
  memory.phases.push_back(std::move(forward));
  return memory;
}

TracedStep trace_inference(const Model& model, const StepPlan& plan) {
  TracedStep step = trace_forward(model, without_training(plan), {}, {});
  // The loss is no part of inference.
  std::vector<Launch>& tape = step.trace.tape();
  tape.erase(std::remove_if(tape.begin(), tape.end(), [](const Launch& l) { return l.phase == Phase::loss; }),
             tape.end());
  return step;
}

TracedStep trace_job(const Model& model, const StepPlan& plan) {
  return plan.infers ? trace_inference(model, plan) : trace_step(model, plan);
}

}  // namespace llmcalc
