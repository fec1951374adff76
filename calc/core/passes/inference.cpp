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

MemoryReport inference_memory(const Model& model, const StepPlan& plan, Count bits) {
  const StateSizes states = state_sizes(model, plan);
  MemoryReport memory;
  memory.parameters = states.parameters;
  memory.buffers = states.buffers;
  const Bytes cache = kv_cache(model.info, plan.job.seq, bits) * plan.job.batch;
  const Bytes kept = sequence_states(model.info, *plan.precision) * plan.job.batch;
  if (cache > Bytes(0)) memory.kv_cache = cache;
  if (kept > Bytes(0)) memory.sequence_states = kept;
  memory.peak = memory.parameters + memory.buffers + cache + kept;
  memory.peak_phase = Phase::forward;
  PhaseReport forward{Phase::forward, memory.peak, {{Part::parameters, memory.parameters}}};
  if (memory.buffers > Bytes(0)) forward.parts.emplace_back(Part::buffers, memory.buffers);
  if (memory.kv_cache) forward.parts.emplace_back(Part::kv_cache, cache);
  if (memory.sequence_states) forward.parts.emplace_back(Part::sequence_states, kept);
  memory.phases.push_back(std::move(forward));
  return memory;
}

TracedStep trace_inference(const Model& model, const StepPlan& given) {
  StepPlan plan = given;
  plan.job.dropout = 0;
  plan.job.recompute = Recompute::none;
  TraceSettings settings;
  settings.autocast = plan.precision->autocast;
  settings.fused_kernels = plan.job.implementation != Implementation::transformers;
  std::vector<LeafSpec> leaves;
  for (const Parameter& p : parameters_of(model, plan).all())
    leaves.push_back({p.shape, p.always_float32 ? DType::float32 : p.stored.value_or(plan.precision->weight), false});
  TracedStep step{Trace(settings, std::move(leaves)), state_sizes(model, plan), {}};
  if (plan.adapted) step.trace.adapters = plan.adapted->adapters;
  const Trace::NoGrad no_grad(step.trace);
  std::uint64_t loss_begins = 0;
  model.forward(step.trace, plan.job, loss_begins);
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
