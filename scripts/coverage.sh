#!/usr/bin/env bash
# How much of calc/ the suite reaches, by the last run of scripts/sanitize.sh:  scripts/coverage.sh [--list [FILE...]]
# Prints the figures; --list prints every line whose branch was never taken one way, or that was never reached.
# llvm-cov rather than gcovr: it counts the conditions of the source, not the ways out that the compiler makes for
# exceptions, and it comes out of the sanitizers' build, where gcovr would need a build and a run of its own.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

folder=$ROOT/build/asan
compiler=$(need_clang)
version=$("$compiler" -dumpversion | cut -d. -f1)
need_packages "llvm-$version"
command -v "llvm-cov-$version" >/dev/null || die $EXIT_UNAVAILABLE "no llvm-cov-$version here"
shopt -s nullglob
profiles=("$folder"/profiles/*.profraw)
[ ${#profiles[@]} -gt 0 ] || die 1 "nothing to count: run scripts/sanitize.sh first"
cd "$ROOT"
"llvm-profdata-$version" merge -sparse -o "$folder/coverage.profdata" "${profiles[@]}"
objects=("$folder/tests/llmcalc_tests" -object "$folder/llmcalc")
for replay in "$folder"/tests/fuzz/replay_*; do objects+=(-object "$replay"); done
"llvm-cov-$version" export -instr-profile "$folder/coverage.profdata" "${objects[@]}" "$ROOT/calc" >"$folder/coverage.json"
python3 scripts/coverage.py "$folder/coverage.json" "$@"
