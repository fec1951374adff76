#!/usr/bin/env python3
"""Random training steps of small models: llmcalc's peak against PyTorch's MemTracker on tensors without data.

usage: peaks.py LLMCALC [--cases N] [--seed S]

LLMCALC is the program. Sizes, batch 1, odd lengths, few heads, tied heads, recomputation and optimizers are drawn at
random; every case prints both peaks. Exits 1 when one differs by more than 0.1 %, 77 (skipped) when torch or
transformers are not there. Not part of the ordinary tests: it needs gigabytes of packages, and about a second a case.
"""
import argparse
import json
import logging
import random
import subprocess
import sys
import tempfile
import warnings

TOLERANCE = 0.001
SKIPPED = 77
MODELS = {"gpt2": "GPT2LMHeadModel", "llama": "LlamaForCausalLM", "qwen2": "Qwen2ForCausalLM"}
OPTIMIZERS = {"sgd": ("SGD", {}), "sgd-momentum": ("SGD", {"momentum": 0.9}), "adamw": ("AdamW", {}),
              "adamw-amsgrad": ("AdamW", {"amsgrad": True}), "adagrad": ("Adagrad", {}), "rmsprop": ("RMSprop", {}),
              "adadelta": ("Adadelta", {}), "nadam": ("NAdam", {})}


def random_case(rng):
    family = rng.choice(sorted(MODELS))
    heads = rng.choice([1, 2, 4, 6, 8])
    hidden = heads * rng.choice([16, 32, 64])
    layers = rng.randint(1, 7)
    vocabulary = rng.choice([97, 1000, 5003, 20000])
    length = rng.randint(2, 300)
    if family == "gpt2":
        config = {"n_embd": hidden, "n_head": heads, "n_layer": layers, "n_positions": 512, "vocab_size": vocabulary,
                  "attn_pdrop": 0.0, "resid_pdrop": 0.0, "embd_pdrop": 0.0}
    else:
        kv_heads = rng.choice([n for n in range(1, heads + 1) if heads % n == 0])
        config = {"hidden_size": hidden, "intermediate_size": hidden * rng.choice([2, 3]) + rng.choice([0, 8]),
                  "num_hidden_layers": layers, "num_attention_heads": heads, "num_key_value_heads": kv_heads,
                  "vocab_size": vocabulary, "tie_word_embeddings": rng.random() < 0.3}
    return {"family": family, "config": dict(config, model_type=family), "batch": rng.randint(1, 4), "seq": length,
            "precision": rng.choice(["fp32", "bf16", "amp-bf16"]), "recompute": rng.choice(["none", "full"]),
            "optimizer": rng.choice(sorted(OPTIMIZERS)), "optimizer-step": rng.choice(["foreach", "single"])}


def tracked_peak(case):
    import torch
    import transformers
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.distributed._tools.mem_tracker import MemTracker
    transformers.masking_utils.find_packed_sequence_indices = lambda positions: None  # reads values, which there are none
    settings = {key: value for key, value in case["config"].items() if key != "model_type"}
    config = transformers.AutoConfig.for_model(case["family"], use_cache=False, attn_implementation="eager", **settings)
    with FakeTensorMode(allow_non_fake_inputs=True):
        dtype = torch.bfloat16 if case["precision"] == "bf16" else torch.float32
        before = torch.get_default_dtype()
        torch.set_default_dtype(dtype)
        model = getattr(transformers, MODELS[case["family"]])(config)
        torch.set_default_dtype(before)
        model.train()
        if case["recompute"] == "full":
            model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
        name, settings = OPTIMIZERS[case["optimizer"]]
        optimizer = getattr(torch.optim, name)(model.parameters(), lr=1e-4, foreach=case["optimizer-step"] == "foreach", **settings)
        ids = torch.randint(0, 90, (case["batch"], case["seq"]))
        tracker = MemTracker()
        tracker.track_external(model, optimizer, ids)
        autocast = torch.autocast("cpu", dtype=torch.bfloat16, enabled=case["precision"] == "amp-bf16")
        with tracker:
            for step in (1, 2):
                if step == 2:
                    tracker.reset_mod_stats()
                with autocast:
                    out = model(input_ids=ids, labels=ids)
                    loss = out.loss
                del out
                loss.backward()
                del loss
                optimizer.step()
                optimizer.zero_grad(set_to_none=True)
            return sum_of(tracker.get_tracker_snapshot("peak"))


def sum_of(snapshot):
    categories = {getattr(key, "value", key): value for key, value in list(snapshot.values())[0].items()}
    return categories["Total"]


def computed_peak(program, case):
    with tempfile.NamedTemporaryFile("w", suffix=".json") as config:
        json.dump(case["config"], config)
        config.flush()
        command = [program, "estimate", config.name, "--attention", "eager", "--format", "json"]
        for key in ("batch", "seq", "precision", "recompute", "optimizer", "optimizer-step"):
            command += ["--" + key, str(case[key])]
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
    if ran.returncode:
        raise RuntimeError(ran.stderr.strip())
    memory = json.loads(ran.stdout)["memory"]
    return memory["peak"], memory["peak_phase"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--cases", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    try:
        import torch  # noqa: F401
        import transformers  # noqa: F401
    except ImportError as missing:
        print(f"skipped: {missing}")
        return SKIPPED
    rng = random.Random(arguments.seed)
    far = 0
    for number in range(arguments.cases):
        case = random_case(rng)
        want = tracked_peak(case)
        got, phase = computed_peak(arguments.program, case)
        off = got / want - 1
        far += abs(off) > TOLERANCE
        if abs(off) > TOLERANCE:
            print(json.dumps(case))
        print(f"{number}: torch {want} llmcalc {got} ({phase}) {off:+.3%}", flush=True)
    print(f"{arguments.cases - far} of {arguments.cases} within {TOLERANCE:.1%}")
    return 1 if far else 0


if __name__ == "__main__":
    sys.exit(main())
