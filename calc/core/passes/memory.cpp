#include "core/passes/memory.hpp"

namespace llmcalc {

std::pair<Phase, Bytes> peak_of(const Ledger& ledger) {
  std::pair<Phase, Bytes> largest{Phase::forward, ledger.peak(Phase::forward).total};
  for (const Phase phase : {Phase::loss, Phase::backward, Phase::optimizer})
    if (ledger.peak(phase).total > largest.second) largest = {phase, ledger.peak(phase).total};
  return largest;
}

MemoryReport account_memory(const TracedStep& step) {
  const Trace& t = step.trace;
  MemoryReport report;
  report.parameters = step.states.parameters;
  report.gradients = step.states.gradients;
  report.master_weights = step.states.master_weights;
  report.optimizer_states = step.states.optimizer_states;
  report.buffers = step.states.buffers;
  report.inputs = step.inputs;

  Bytes saved, copies;
  for (const KeptRecord& kept : t.kept())
    if (kept.first) (kept.part == Part::autocast_copies ? copies : saved) += kept.storage * kept.repeat;
  report.saved_for_backward = saved;
  if (t.settings.autocast) {
    report.autocast_weights = copies;
    report.autocast_cache = t.autocast_copies_at_exit();
  }
  report.kept = t.kept();
  report.modules = t.modules();

  for (const Phase phase : {Phase::forward, Phase::loss, Phase::backward, Phase::optimizer}) {
    const Peak& peak = t.ledger.peak(phase);
    PhaseReport row{phase, peak.total, {}};
    for (std::size_t i = 0; i < part_count; ++i)
      if (peak.parts[i] > Bytes(0)) row.parts.emplace_back(static_cast<Part>(i), peak.parts[i]);
    report.phases.push_back(std::move(row));
  }
  const auto [phase, peak] = peak_of(t.ledger);
  report.peak = peak;
  report.peak_phase = phase;
  return report;
}

}  // namespace llmcalc
