#!/usr/bin/env bash
# Everything a GPU can tell about llmcalc, in one go and under five minutes: gpu-run.sh LLMCALC [RESULT_FOLDER]
# Takes a program built elsewhere (scripts/run.sh --version builds it); needs the NVIDIA driver and cuBLASLt, no network and
# no C++ libraries. What is missing (compute-sanitizer, PyTorch) is skipped and said so. Leaves one folder of results.
set -uo pipefail

program=$(realpath "${1:?usage: gpu-run.sh LLMCALC [RESULT_FOLDER]}")
folder=${2:-gpu-results}
mkdir -p "$folder"
cd "$folder" || exit 1
summary=summary.txt
most_seconds=290  # of all steps together; what comes too late is cut short, and its exit says so (124)
: >"$summary"
failed=0

# step NAME SECONDS COMMAND...: output to NAME.txt, one line to the summary. Exit codes 0 and 1 (a verdict) are answers.
step() {
  local name=$1 limit=$2 started=$SECONDS result=0
  shift 2
  if [ $limit -gt $((most_seconds - SECONDS)) ]; then limit=$((most_seconds - SECONDS)); fi
  if [ $limit -lt 1 ]; then
    skip "$name" "no time left"
    return
  fi
  timeout "$limit" "$@" >"$name.txt" 2>&1 || result=$?
  case $result in
    0) ;;
    124) failed=1 ;;
    *) [ "$name" != "${name#check}" ] && [ $result -eq 1 ] || failed=1 ;;
  esac
  printf '%-24s exit %3d  %3d s\n' "$name" $result $((SECONDS - started)) | tee -a "$summary"
}
skip() { printf '%-24s skipped: %s\n' "$1" "$2" | tee -a "$summary"; }

# PyTorch brings cuBLAS along where the toolkit is not installed.
python=$(command -v python3 || true)
if [ -n "$python" ]; then
  blas=$("$python" -c 'import glob, os, sys
for path in sys.path:
    found = glob.glob(os.path.join(path, "nvidia", "**", "libcublasLt.so*"), recursive=True)
    if found:
        print(os.path.dirname(found[0])); break' 2>/dev/null || true)
  [ -z "$blas" ] || export LD_LIBRARY_PATH="$blas${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
fi

{ nvidia-smi; nvidia-smi -q -d CLOCK,POWER,TEMPERATURE,PERFORMANCE; "$program" --version; } >machine.txt 2>&1
step backends 20 "$program" measure --list-backends
grep -qE '^cuda .* yes' backends.txt || { cat backends.txt; echo "no usable CUDA device" | tee -a "$summary"; exit 4; }

# Memory errors and races show on tiny shapes as well; samples are few there because the tool is slow.
sanitizer=$(command -v compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer 2>/dev/null || true)
for tool in memcheck racecheck; do
  if [ -z "$sanitizer" ]; then
    skip "$tool" "no compute-sanitizer"
  else
    step "$tool" 30 "$sanitizer" --tool "$tool" --error-exitcode 9 "$program" measure --backend cuda --quick --allow-noisy \
      --only launch,softmax,rms_norm --out "$tool.yaml"
  fi
done

step measure 25 "$program" measure --backend cuda --quick --out gpu.yaml
step measure-again 25 "$program" measure --backend cuda --quick --out gpu-again.yaml
step memory 45 "$program" measure --backend cuda --allow-noisy --only copy,read,write,triad,host_to_device,device_to_host,both_directions --out memory.yaml
gpt2=(--batch 8 --seq 1024 --precision amp-bf16)
step step-gpt2 40 "$program" measure --backend cuda --quick --model gpt2 "${gpt2[@]}" --out gpt2.yaml
step check-gpt2 20 "$program" check gpt2 gpt2.yaml "${gpt2[@]}"
llama=(--batch 1 --seq 4096 --precision bf16)
step step-llama 40 "$program" measure --backend cuda --quick --model llama-3-8b "${llama[@]}" --out llama-3-8b.yaml
step check-llama 20 "$program" check llama-3-8b llama-3-8b.yaml "${llama[@]}"
step estimate-gpt2 20 "$program" estimate gpt2 gpt2.yaml "${gpt2[@]}" --format json

# The same step in PyTorch: memory and time as the truth for estimates of these configurations.
if [ -n "$python" ] && "$python" -c 'import torch, transformers; assert torch.cuda.is_available()' 2>/dev/null; then
  cat >pytorch.py <<'PYTHON'
import json, time, torch
from transformers import GPT2Config, GPT2LMHeadModel
for batch, seq, precision in [(b, t, p) for b, t in ((1, 256), (1, 1024), (4, 512), (8, 1024), (16, 1024)) for p in ("fp32", "amp-bf16")]:
    torch.cuda.empty_cache(); torch.cuda.reset_peak_memory_stats()
    model = GPT2LMHeadModel(GPT2Config()).cuda().train()
    optimizer = torch.optim.AdamW(model.parameters())
    ids = torch.randint(0, 50257, (batch, seq), device="cuda")
    times = []
    for _ in range(12):
        torch.cuda.synchronize(); start = time.perf_counter()
        with torch.autocast("cuda", torch.bfloat16, enabled=precision == "amp-bf16"):
            loss = model(ids, labels=ids).loss
        loss.backward(); optimizer.step(); optimizer.zero_grad(); torch.cuda.synchronize()
        times.append(time.perf_counter() - start)
    print(json.dumps({"model": "gpt2", "batch": batch, "seq": seq, "precision": precision, "torch": torch.__version__,
                      "max_memory_allocated": torch.cuda.max_memory_allocated(), "step": sorted(times[2:])[5]}), flush=True)
    del model, optimizer, loss
PYTHON
  step pytorch 70 "$python" pytorch.py
else
  skip pytorch "no PyTorch with CUDA and transformers here"
fi

printf 'results in %s\n' "$(pwd)"
exit $failed
