// How the FLOPs of training are counted: three ways to count attention on the tape, and the formulas that other
// projects report by.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/model.hpp"
#include "core/passes/step.hpp"
#include "core/report.hpp"

namespace llmcalc {

struct Convention {
  std::string_view name;        // as --attention-flops takes it
  std::string_view definition;  // FLOPs of a training step, in words and symbols
  std::string_view source;
  bool counts_tape = false;  // causal, causal-exact, full: what the traced products are, nothing else
};

// N: parameters used per token; L layers, H heads, Q head size, T sequence, V vocabulary, h hidden size.
const std::vector<Convention>& conventions();
const Convention* convention_named(std::string_view name);  // nullptr for an unknown name
std::vector<std::string> convention_names();

// How attention is counted on the tape under that name; conventions with a formula of their own count causally.
AttentionCounting counting_of(std::string_view name);

// Model FLOPs of one micro-batch of training by the convention.
Flops convention_flops(std::string_view name, const Model& model, const Job& job, const Trace& trace);

// Where the convention has a formula of its own: its model FLOPs, and what follows from them, instead of those counted
// on the tape. `micro_batches`: of a step, on all devices.
void apply_convention(FlopsReport& report, std::string_view name, const Model& model, const Job& job,
                      const Trace& trace, Count micro_batches);

}  // namespace llmcalc
