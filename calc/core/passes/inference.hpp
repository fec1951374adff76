// Memory of inference: weights, the cache of keys and values, and the pass over the prompt.
#pragma once

#include <optional>
#include <string>

#include "core/model.hpp"
#include "core/passes/step.hpp"
#include "core/report.hpp"

namespace llmcalc {

// How many bits an element of the cache has: fp32, bf16, fp16, fp8, int8, int4, ... Nothing for an unknown name. Scales
// of quantised caches are not counted.
std::optional<Count> kv_bits(const std::string& name);

// Cache of one sequence of `seq` tokens: all layers. A layer with a sliding window (or chunks) keeps at most that many
// tokens, where the library's cache knows of it; latent attention keeps its compressed vector and the rotary part of
// the keys. A decoder beside an encoder keeps the encoder's `seq` tokens too; an encoder keeps nothing.
Bytes kv_cache(const ModelInfo& info, Count seq, Count bits);

// What layers that mix tokens by a recurrence keep of one sequence, however long (transformers' LinearAttentionLayer).
Bytes sequence_states(const ModelInfo& info, const Precision& precision);

// What one more token adds to each sequence, where no window is full yet.
Bytes kv_per_token(const ModelInfo& info, Count bits);

// What the pass over job.batch prompts of job.seq tokens needs at once: weights, buffers, the whole cache, and its own
// tensors with the logits of the last token (transformers' generate). Bits of an element of the cache as kv_bits gives.
Bytes inference_peak(const Model& model, const StepPlan& plan, Count bits);

// The same, part by part.
MemoryReport inference_memory(const Model& model, const StepPlan& plan, Count bits);

// Forward pass alone, without gradients: its tape is what one pass over all tokens runs.
TracedStep trace_inference(const Model& model, const StepPlan& plan);

// What the plan's job runs: a training step, or the forward pass alone.
TracedStep trace_job(const Model& model, const StepPlan& plan);

}  // namespace llmcalc
