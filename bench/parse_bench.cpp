// Reading: a built-in profile, a device with all its derived values, the whole catalogue.
#include <benchmark/benchmark.h>

#include "core/diagnostics.hpp"
#include "read/load.hpp"

namespace {

void parse_model_profile(benchmark::State& state) {
  for (auto _ : state) {
    llmcalc::Diagnostics diagnostics;
    benchmark::DoNotOptimize(llmcalc::load_model_document("llama-3.1-405b", diagnostics));
  }
}
BENCHMARK(parse_model_profile)->Unit(benchmark::kMicrosecond);

void parse_device_profile(benchmark::State& state) {
  for (auto _ : state) {
    llmcalc::Diagnostics diagnostics;
    benchmark::DoNotOptimize(llmcalc::load_device("h100-sxm", diagnostics));
  }
}
BENCHMARK(parse_device_profile)->Unit(benchmark::kMicrosecond);

// The slowest way to name a device: no built-in id, so the aliases of all are looked through.
void find_device_by_driver_name(benchmark::State& state) {
  for (auto _ : state) {
    llmcalc::Diagnostics diagnostics;
    benchmark::DoNotOptimize(llmcalc::load_device("NVIDIA H100 80GB HBM3", diagnostics));
  }
}
BENCHMARK(find_device_by_driver_name)->Unit(benchmark::kMicrosecond);

}  // namespace
