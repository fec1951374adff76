#!/usr/bin/env bash
# Runs every command that a page of docs/reference gives as an example without showing what it prints (lines of code
# that begin with `llmcalc`): each must succeed and print something. examples.sh FOLDER_OF_LLMCALC FILE.md...
# Commands run in one scratch folder in the order of the page, with the files of the reader's own that they name.
set -euo pipefail
program_folder=$(cd "$1" && pwd -P)
shift
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P)
export PATH=$program_folder:$PATH NO_COLOR=1 LC_ALL=C.UTF-8
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

cd "$scratch"
mkdir my-model
cat >my-model/config.json <<'JSON'
{"model_type": "llama", "hidden_size": 2048, "intermediate_size": 5632, "num_hidden_layers": 22,
 "num_attention_heads": 32, "num_key_value_heads": 4, "vocab_size": 32000, "max_position_embeddings": 2048}
JSON
cp "$root/profiles/gpt2.yaml" my-model.yaml
cp "$root/hardware/t4.yaml" my-gpu.yaml
printf 'llmcalc.replay/1\ndevice Replayed\nmemory 1000000\ncache 1000\nworkload *\nsamples 0.001 0.00101 0.001\n' >steady.txt

# The lines of code: fenced blocks other than ```console (console.sh has those), and indented ones.
examples() {
  awk '/^```/ { inside = !inside; skip = inside && $0 != "```"; next }
       inside && !skip && /^llmcalc / { print }
       !inside && /^    llmcalc / { sub(/^ +/, ""); print }' "$1"
}

count=0
for page in "$@"; do
  before=$count
  while IFS= read -r command; do
    count=$((count + 1))
    run=$command allowed=0
    case $command in
      *--list-backends*) ;;
      "llmcalc measure"*) run="$command --backend replay:steady.txt" ;;  # no machine is measured by a test
      "llmcalc check"*) allowed=1 ;;                                     # recorded samples are no true measurement
      *--plot*) command -v gnuplot >/dev/null || allowed=4 ;;
    esac
    code=0
    bash -c "$run" >out.txt 2>err.txt </dev/null || code=$?
    if [ $code -ne 0 ] && [ $code -ne $allowed ]; then
      echo "$page: $command"
      cat err.txt
      echo "exit code $code"
      exit 1
    fi
    [ -s out.txt ] || [ $code -ne 0 ] || { echo "$page: $command prints nothing"; exit 1; }
  done < <(examples "$root/$page")
  [ $count -gt $before ] || { echo "$page: no example"; exit 1; }
done
echo "ok: $count commands"
