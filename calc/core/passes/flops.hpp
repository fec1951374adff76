// FLOPs of one optimizer step, from the tape.
#pragma once

#include "core/passes/step.hpp"
#include "core/report.hpp"

namespace llmcalc {

// `micro_batches`: how often the traced micro-batch runs in one step on all devices. `convention` is causal,
// causal-exact or full.
FlopsReport count_flops(const Trace& trace, AttentionCounting counting, Count micro_batches,
                        Count tokens_per_micro_batch);

}  // namespace llmcalc
