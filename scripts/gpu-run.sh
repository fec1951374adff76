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

# step NAME SECONDS COMMAND...: output to NAME.txt, one line to the summary. A check's exit 1 is a verdict, an answer too.
step() {
  local name=$1 limit=$2 started=$SECONDS result=0
  shift 2
  if [ $limit -gt $((most_seconds - SECONDS)) ]; then limit=$((most_seconds - SECONDS)); fi
  if [ $limit -lt 1 ]; then
    skip "$name" "no time left"
    return
  fi
  timeout "$limit" "$@" >"$name.txt" 2>&1 || result=$?
  case $name-$result in
    *-0 | check-*-1) ;;
    *) failed=1 ;;
  esac
  printf '%-24s exit %3d  %3d s\n' "$name" $result $((SECONDS - started)) | tee -a "$summary"
}
skip() { printf '%-24s skipped: %s\n' "$1" "$2" | tee -a "$summary"; }
measure() {  # measure NAME SECONDS OPTIONS...
  local name=$1 limit=$2
  shift 2
  step "$name" "$limit" "$program" measure --backend cuda --out "$name.yaml" --record "$name.samples" "$@"
}

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

# 1. The machine, and the program itself: that it starts, estimates, and verifies its own kernels on the processor.
{ nvidia-smi; nvidia-smi -q -d CLOCK,POWER,TEMPERATURE,PERFORMANCE; "$program" --version; } >machine.txt 2>&1
step backends 20 "$program" measure --list-backends
grep -qE '^cuda .* yes' backends.txt || { cat backends.txt; echo "no usable CUDA device" | tee -a "$summary"; exit 4; }
step self-check 20 "$program" measure --backend cpu --tiny --out self-check.yaml

# 2. Every kernel once on a few KiB: right, and without a memory error or a race.
measure verify 15 --tiny
sanitizer=$(command -v compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer 2>/dev/null || true)
for tool in memcheck racecheck; do
  if [ -z "$sanitizer" ]; then
    skip "$tool" "no compute-sanitizer"
  else
    step "$tool" 30 "$sanitizer" --tool "$tool" --error-exitcode 9 "$program" measure --backend cuda --tiny --out "$tool.yaml"
  fi
done

# 3. Copies and transfers; products; the same protocol twice; what lasts.
measure copies 25 --quick --only copy,memcpy,read,write,scale,add,triad
measure transfers 25 --quick --only host_to_device,device_to_host,both_directions,launch
measure products 25 --quick --only matmul,copy --sustained 4s
measure products-again 20 --quick --only matmul,copy
measure roof 15 --quick --only intensity,copy
step roofline 10 "$program" roofline roof.yaml

# 4. Two steps, operation by operation, against the estimate. Llama's layers are alike: one of them has all operations.
cat >llama-layer.yaml <<'YAML'
schema: llmcalc.model/1
name: One layer of Llama 3 8B
architecture: llama
hidden_size: 4096
intermediate_size: 14336
num_hidden_layers: 1
num_attention_heads: 32
num_key_value_heads: 8
vocab_size: 128256
max_position_embeddings: 8192
source: hidden sizes of Llama 3 8B's config.json, with one layer
YAML
gpt2=(--batch 8 --seq 1024 --precision amp-bf16)
measure step-gpt2 25 --quick --model gpt2 "${gpt2[@]}"
step check-gpt2 10 "$program" check gpt2 step-gpt2.yaml "${gpt2[@]}"
llama=(--batch 1 --seq 4096 --precision bf16)
measure step-llama 25 --quick --model llama-layer.yaml "${llama[@]}"
step check-llama 10 "$program" check llama-layer.yaml step-llama.yaml "${llama[@]}"

# 5. The same step in PyTorch: memory and time as the truth, the estimate of the same job beside it.
if [ -n "$python" ] && "$python" -c 'import torch, transformers; assert torch.cuda.is_available()' 2>/dev/null; then
  cat >pytorch.py <<'PYTHON'
import json, subprocess, sys, time, torch
from transformers import GPT2Config, GPT2LMHeadModel
jobs = [(b, t, p, "adamw") for b, t in ((1, 256), (1, 1024), (4, 512), (8, 1024)) for p in ("fp32", "amp-bf16")]
jobs += [(4, 512, "amp-bf16", "sgd"), (16, 1024, "amp-bf16", "adamw")]
for batch, seq, precision, optimizer_name in jobs:
    torch.cuda.empty_cache(); torch.cuda.reset_peak_memory_stats()
    model = GPT2LMHeadModel(GPT2Config()).cuda().train()
    optimizer = {"adamw": torch.optim.AdamW, "sgd": torch.optim.SGD}[optimizer_name](model.parameters(), lr=1e-4)
    ids = torch.randint(0, 50257, (batch, seq), device="cuda")
    times = []
    for _ in range(12):
        torch.cuda.synchronize(); start = time.perf_counter()
        with torch.autocast("cuda", torch.bfloat16, enabled=precision == "amp-bf16"):
            loss = model(ids, labels=ids).loss
        loss.backward(); optimizer.step(); optimizer.zero_grad(); torch.cuda.synchronize()
        times.append(time.perf_counter() - start)
    row = {"model": "gpt2", "batch": batch, "seq": seq, "precision": precision, "optimizer": optimizer_name,
           "torch": torch.__version__, "max_memory_allocated": torch.cuda.max_memory_allocated(), "step": sorted(times[2:])[5]}
    asked = [sys.argv[1], "estimate", "gpt2", sys.argv[2], "--batch", str(batch), "--seq", str(seq), "--precision", precision,
             "--optimizer", optimizer_name, "--format", "json"]
    answer = subprocess.run(asked, capture_output=True, text=True)
    if answer.returncode == 0:
        estimate = json.loads(answer.stdout)
        row["estimated_peak"], row["estimated_step"] = estimate["memory"]["peak"], estimate["time"]["step"]
    else:
        row["estimate"] = answer.stderr.strip()
    print(json.dumps(row), flush=True)
    del model, optimizer, loss
PYTHON
  step pytorch 60 "$python" pytorch.py "$program" products.yaml
else
  skip pytorch "no PyTorch with CUDA and transformers here"
fi

printf 'results in %s\n' "$(pwd)"
exit $failed
