#!/usr/bin/env bash
# scripts/gpu-run.sh without a GPU: a stand-in for the program answers as one would, and what the script makes of it is checked.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/bin"
# No python3, no nvidia-smi, no compute-sanitizer: a bare machine.
for tool in bash realpath mkdir timeout tee grep cat printf env ls; do
  ln -s "$(command -v $tool)" "$scratch/bin/$tool"
done

# $1: what --list-backends says of cuda; $2: the word in the arguments on which the program fails, and $3 its exit.
run() {
  cat >"$scratch/llmcalc" <<PROGRAM
#!$scratch/bin/bash
echo "\$*" >>"$scratch/calls"
case "\$*" in
  *--list-backends*) echo "cuda     Stand-in GPU   $1" ;;
  *"$2"*) exit $3 ;;
esac
exit 0
PROGRAM
  chmod +x "$scratch/llmcalc"
  rm -rf "$scratch/results" "$scratch/calls"
  result=0
  PATH="$scratch/bin" bash "$root/scripts/gpu-run.sh" "$scratch/llmcalc" "$scratch/results" >"$scratch/log" 2>&1 || result=$?
}
must() { "$@" || { echo "failed: $*"; cat "$scratch/log"; exit 1; }; }
summary_has() { grep -qE "$1" "$scratch/results/summary.txt"; }

run yes never 0
must [ $result -eq 0 ]
for name in backends self-check verify copies transfers products products-again roof roofline step-gpt2 check-gpt2 step-llama \
  check-llama; do
  must summary_has "^$name +exit +0"
done
for name in memcheck racecheck pytorch; do must summary_has "^$name +skipped: no "; done
must grep -q -- '--backend cuda .*--model llama-layer.yaml' "$scratch/calls"

run yes 'check gpt2' 1   # outside the tolerance: an answer
must [ $result -eq 0 ]
must summary_has '^check-gpt2 +exit +1'
run yes 'matmul,copy' 5  # failed verification: not one
must [ $result -eq 1 ]
must summary_has '^products +exit +5'
must summary_has '^check-llama +exit +0'  # and the rest is done all the same
run 'no   no NVIDIA driver on this machine' never 0
must [ $result -eq 4 ]
must summary_has 'no usable CUDA device'
