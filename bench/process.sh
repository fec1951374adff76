#!/usr/bin/env bash
# Time, memory and instructions of the whole process:  bench/process.sh [llmcalc arguments]
# Without arguments: `llmcalc estimate llama-3-8b h100-sxm`. Goals: 10 ms (better 5) and 20 MB.
. "$(dirname "${BASH_SOURCE[0]}")/../scripts/lib.sh"

[ $# -gt 0 ] || set -- estimate llama-3-8b h100-sxm
runs=40
"$ROOT/scripts/run.sh" --version >/dev/null
program=$ROOT/build/release/llmcalc
tool=$ROOT/build/process
[ "$tool" -nt "$ROOT/bench/process.cpp" ] || c++ -std=c++20 -O2 "$ROOT/bench/process.cpp" -o "$tool"

echo "llmcalc $*"
"$tool" $runs "$program" "$@"
# The same for a program that does nothing: what the machine itself takes to start a process.
printf 'a process that does nothing: '
"$tool" $runs true
if command -v valgrind >/dev/null; then
  valgrind --tool=callgrind --callgrind-out-file="$ROOT/build/callgrind.out" "$program" "$@" 2>&1 >/dev/null |
    sed -nE 's/.*Collected : ([0-9]+).*/instructions (callgrind): \1/p'
  echo "where they go: callgrind_annotate build/callgrind.out | head -40"
else
  echo "instructions: valgrind is not here (apt-get install valgrind)"
fi
