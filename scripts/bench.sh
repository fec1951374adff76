#!/usr/bin/env bash
# Benchmarks of the library:  scripts/bench.sh [Google Benchmark options, as --benchmark_filter=parse]
# The whole process is measured by bench/process.sh.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# shellcheck disable=SC2086
need_packages $PACKAGES_BUILD libbenchmark-dev
build "$ROOT/build/bench" llmcalc_bench bench -DLLMCALC_BENCH=ON -DLLMCALC_CUDA=OFF
exec "$ROOT/build/bench/bench/llmcalc_bench" "$@"
