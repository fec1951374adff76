// Memory of one step on one device, from the traced step: sizes, what autograd keeps, the peak of each phase.
#pragma once

#include "core/passes/step.hpp"
#include "core/report.hpp"

namespace llmcalc {

MemoryReport account_memory(const TracedStep& step);

// The phase with the largest peak, and that peak.
std::pair<Phase, Bytes> peak_of(const Ledger& ledger);

}  // namespace llmcalc
