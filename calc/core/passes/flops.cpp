#include "core/passes/flops.hpp"

#include <algorithm>
#include <map>

namespace llmcalc {
namespace {

// Attention's share of one launch, and what its kernel executes beyond what the convention counts.
void add_attention(FlopsReport& report, const Launch& l, AttentionCounting counting) {
  if (l.pairs.causal_twice < l.pairs.full_twice) report.attention_is_causal = true;
  const Flops model = model_flops(l, counting), executed = executed_flops(l, counting);
  report.attention += model;
  Launch skipping = l;
  skipping.skips_masked = true;
  const Flops unmasked = executed_flops(skipping, counting);
  report.masked_pairs += executed - unmasked;
  report.scores_again += unmasked - model;
}

}  // namespace

FlopsReport count_flops(const Trace& trace, AttentionCounting counting, Count micro_batches,
                        Count tokens_per_micro_batch) {
  FlopsReport report;
  std::map<std::uint16_t, OperationFlops> by_module;
  const auto add = [&](const Launch& l, AttentionCounting how, Flops& model) {
    if (l.pass == Pass::forward || l.pass == Pass::backward) model += model_flops(l, how);
  };
  for (const Launch& l : trace.tape()) {
    report.elementwise += Flops(l.elementwise) * l.repeat;
    if (!is_matrix_product(l.op)) continue;
    add(l, counting, report.model);
    add(l, AttentionCounting::full, report.model_full);
    add(l, AttentionCounting::causal, report.model_causal);
    const Flops executed = executed_flops(l, counting);
    report.hardware += executed;
    if (l.pass == Pass::forward || l.pass == Pass::backward) {
      if (l.op == Op::convolution || l.op == Op::scan)
        report.recurrence += model_flops(l, counting);
      else if (l.flops_per_pair)
        add_attention(report, l, counting);
    }
    OperationFlops& operation = by_module[l.module];
    switch (l.pass) {
      case Pass::forward:
        report.forward += model_flops(l, counting);
        operation.forward += model_flops(l, counting);
        operation.count += l.repeat;
        break;
      case Pass::backward:
        report.backward += model_flops(l, counting);
        operation.backward += model_flops(l, counting);
        break;
      case Pass::recompute: report.recompute += executed; break;
      case Pass::optimizer: break;
    }
  }
  report.forward_per_token = report.forward.as_double() / static_cast<double>(tokens_per_micro_batch);
  report.model_per_token = report.model.as_double() / static_cast<double>(tokens_per_micro_batch);
  for (Flops* sum : {&report.forward, &report.backward, &report.recompute, &report.model, &report.hardware,
                     &report.elementwise, &report.model_full, &report.model_causal, &report.attention,
                     &report.recurrence, &report.masked_pairs, &report.scores_again})
    *sum = *sum * micro_batches;
  for (auto& [module, operation] : by_module) {
    operation.operation = trace.modules()[module];
    operation.count *= micro_batches;
    operation.forward = operation.forward * micro_batches;
    operation.backward = operation.backward * micro_batches;
    report.by_operation.push_back(operation);
  }
  std::stable_sort(
      report.by_operation.begin(), report.by_operation.end(),
      [](const OperationFlops& a, const OperationFlops& b) { return a.forward + a.backward > b.forward + b.backward; });
  return report;
}

}  // namespace llmcalc
