// From the options given to a job that can be traced: defaults filled in, names looked up, contradictions refused.
#pragma once

#include "core/device.hpp"
#include "core/model_source.hpp"
#include "core/passes/step.hpp"
#include "core/report.hpp"
#include "core/run.hpp"

namespace llmcalc {

struct Resolved {
  ResolvedRun run;
  StepPlan plan;
  AttentionCounting counting = AttentionCounting::causal;
  std::optional<Count> kv_bits;  // of the cache of keys and values, for inference
};

// Positions count from the beginning of each document.
Count longest_document(const ResolvedRun& run);

// Throws Error(usage) for an option that means nothing in the mode, Error(bad_input) for an unknown name (with the
// nearest), a kernel or precision that cannot run, and values that make no sense.
Resolved resolve(const RunOptions& given, const ModelSource& model, const Device* device);

}  // namespace llmcalc
