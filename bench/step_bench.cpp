// One optimizer step traced and accounted, without a device: parameters, FLOPs, memory by phase.
#include <benchmark/benchmark.h>

#include <string>

#include "core/passes/flops.hpp"
#include "core/passes/memory.hpp"
#include "core/resolve.hpp"
#include "read/load.hpp"

namespace {

using namespace llmcalc;

void step(benchmark::State& state, const std::string& id, const std::string& recompute) {
  Diagnostics diagnostics;
  const Document document = load_model_document(id, diagnostics);
  const ModelSource source = read_model(document.root, document.source, document.yaml, document.id, {}, diagnostics);
  RunOptions options;
  options.recompute = recompute;
  const Resolved resolved = resolve(options, source, nullptr);
  for (auto _ : state) {
    const TracedStep traced = trace_step(*source.model, resolved.plan);
    benchmark::DoNotOptimize(count_parameters(source.model->parameters));
    benchmark::DoNotOptimize(count_flops(traced.trace, resolved.counting, 1, resolved.run.seq));
    benchmark::DoNotOptimize(peak_of(traced.trace.ledger));
  }
}
BENCHMARK_CAPTURE(step, llama_405b, "llama-3.1-405b", "none")->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(step, llama_405b_recomputed, "llama-3.1-405b", "full")->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(step, deepseek_671b, "deepseek-v3-671b", "none")->Unit(benchmark::kMicrosecond);

}  // namespace
