#!/usr/bin/env python3
"""Random configurations of every architecture: what PyTorch builds from each against what llmcalc counts.

usage: architectures.py LLMCALC [--count N] [--seed S] [--flops] [--rows] [--defaults] [MODEL_TYPE ...]

Draws N small configurations of each model type, with keys left out and switches on and off, builds the model of the
transformers library on the meta device and compares: parameters in all, active, compute, embedding, head, tied, every
kind of layer; with --flops also the matrix products of one forward and one forward + backward pass (2 sequences of 24 tokens, eager
attention, one product for all experts), as torch's FlopCounterMode sees them. Prints each difference with its configuration, or with --rows a row of
tests/reference/parameter_variants.tsv for each configuration that agrees. With --defaults there is one configuration of
each model type: the keys llmcalc asks for, at their defaults; its row is one of tests/reference/defaults.tsv. Exit 1
when there was a difference.

Needs torch and transformers; no model is downloaded, no memory of its size is needed. Not part of the test suite.
"""
import argparse, json, logging, os, random, re, subprocess, sys, tempfile, warnings
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
warnings.filterwarnings('ignore'); logging.disable(logging.WARNING)
os.environ.setdefault('HF_HUB_OFFLINE', '1')
import torch, transformers
from torch.utils.flop_counter import FlopCounterMode
from configurations import EXPERTS, PER_TOKEN, Draw, first
from transformers.models.auto.configuration_auto import CONFIG_MAPPING
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES
import transformers.masking_utils as masking
masking.find_packed_sequence_indices = lambda positions: None  # cannot read values of meta tensors

CLASSES = dict(MODEL_FOR_CAUSAL_LM_MAPPING_NAMES, bert='BertForMaskedLM', t5='T5ForConditionalGeneration')
# Their recurrences have no FLOPs a counter could tell.
RECURRENT = {'mamba', 'mamba2', 'falcon_mamba', 'jamba', 'nemotron_h', 'recurrent_gemma', 'qwen3_next', 'qwen3_5_text',
             'qwen3_5_moe_text'}
BATCH, SEQ = 2, 24
CONTEXT = ('max_position_embeddings', 'n_positions', 'n_ctx', 'max_seq_len')


def build(model_type, config, attention='eager', dtype=None):
    made = CONFIG_MAPPING[model_type].from_dict(dict(config))
    made._attn_implementation = attention
    default = torch.get_default_dtype()
    if dtype: torch.set_default_dtype(dtype)
    try:
        with torch.device('meta'):
            model = getattr(transformers, CLASSES[model_type])(made)
    finally:
        torch.set_default_dtype(default)
    model.tie_weights()
    return made, model


def is_routed(name):
    parts = name.lower().split('.')
    if any('shared' in p for p in parts): return False
    return 'experts' in parts or ('block_sparse_moe' in parts and any(p in ('input_linear', 'output_linear') for p in parts))


def expected(model_type, config):
    made, model = build(model_type, config)
    by_id = {}
    for name, p in model.named_parameters(remove_duplicate=False):
        by_id.setdefault(id(p), [p, name])
    unique = [(name, p) for p, name in by_id.values()]
    total = sum(p.numel() for _, p in unique)
    table, head = model.get_input_embeddings().weight, model.get_output_embeddings()
    head_weight = None if head is None else head.weight
    tied = head_weight is table
    others = sum(m.weight.numel() for m in model.modules() if isinstance(m, torch.nn.Embedding) and m.weight is not table)
    routed = sum(p.numel() for n, p in unique if is_routed(n))
    whole = vars(made) | vars(getattr(made, 'ffn_config', made))
    n, k = first(whole, EXPERTS), first(whole, PER_TOKEN + ('moe_top_k',))
    idle = routed // n * (n - k) if routed else 0
    layers = {}
    for name, p in unique:
        parts = name.split('.')
        at = next((i for i, q in enumerate(parts) if q.isdigit()), None)
        if at is not None: layers.setdefault('.'.join(parts[:at + 1]), []).append(('.'.join(parts[at + 1:]), tuple(p.shape)))
    kinds = {}
    for tensors in layers.values():
        kinds[tuple(tensors)] = kinds.get(tuple(tensors), 0) + 1
    kinds = sorted((count, sum(torch.Size(s).numel() for _, s in t)) for t, count in kinds.items())
    return dict(total=total, active=total - idle, compute=total - idle - others - (0 if tied else table.numel()),
                embedding=table.numel(), head=0 if head_weight is None else head_weight.numel(), tied=tied,
                layers=';'.join(f'{c}x{s}' for c, s in kinds))


def run(llmcalc, arguments):
    done = subprocess.run([llmcalc] + arguments + ['--format', 'json'], capture_output=True, text=True)
    return (json.loads(done.stdout), '') if done.returncode == 0 else (None, done.stderr.strip())


def counted(llmcalc, path):
    answer, error = run(llmcalc, ['params', path])
    if answer is None: return {'error': error}
    p = answer['parameters']
    kinds = sorted((l['count'], l['parameters']) for l in answer['layers'])
    return dict(total=p['total'], active=p['active'], compute=p.get('compute', 0), embedding=p.get('embedding', 0),
                head=p.get('head', 0), tied=p['tied'], layers=';'.join(f'{c}x{s}' for c, s in kinds))


def asked_for(llmcalc, model_type):
    """The keys that llmcalc does not go without, at the defaults of the configuration class."""
    config = {}
    while True:
        with tempfile.NamedTemporaryFile('w', suffix='.json') as file:
            json.dump(dict(model_type=model_type, **config), file)
            file.flush()
            missing = re.findall(r'error: (\w+): is required', run(llmcalc, ['params', file.name])[1])
        if not missing: return config
        config.update((key, getattr(CONFIG_MAPPING[model_type](), key)) for key in missing)


# What transformers calls layers that do not see everything; those of deepseek_v4 see compressed keys besides.
WINDOWED = {'sliding', 'sliding_attention', 'chunked_attention', 'local', 'attention', 'compressed_sparse_attention',
            'heavily_compressed_attention'}


def longest_context(made):
    return next((value for key, value in made.to_dict().items() if key in CONTEXT), '-')


def windows(made):
    """Layers x the tokens they see at most: a sliding window, a chunk."""
    keys = made.to_dict()
    size = next((keys[k] for k in ('sliding_window', 'attention_chunk_size', 'window_size', 'attention_window_size') if keys.get(k)), 0)
    kinds = next((getattr(made, k) for k in ('layer_types', 'attention_layers', 'layers_block_type') if getattr(made, k, None)),
                 ['sliding'] * made.num_hidden_layers)
    layers = sum(kind in WINDOWED for kind in kinds)
    return f'{layers}x{size}' if layers and size else '-'


def expected_flops(model_type, config):
    _, model = build(model_type, dict(config, use_cache=False), dtype=torch.bfloat16)
    try: model.set_experts_implementation('batched_mm')
    except Exception: pass  # no experts
    model.train()
    ids = torch.empty(BATCH, SEQ, dtype=torch.long, device='meta')
    counter = FlopCounterMode(display=False)
    with counter:
        out = model(input_ids=ids, labels=ids)
        forward = counter.get_total_flops()
        out.loss.backward()
    return dict(forward=forward, model=counter.get_total_flops())


def counted_flops(llmcalc, path):
    answer, error = run(llmcalc, ['estimate', path, '--batch', str(BATCH), '--seq', str(SEQ), '--precision', 'bf16',
                                  '--attention', 'eager', '--attention-flops', 'full'])
    return {'error': error} if answer is None else {k: answer['flops'][k] for k in ('forward', 'model')}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('llmcalc')
    parser.add_argument('model_types', nargs='*')
    parser.add_argument('--count', type=int, default=20)
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--flops', action='store_true')
    parser.add_argument('--rows', action='store_true')
    parser.add_argument('--defaults', action='store_true')
    options = parser.parse_args()
    if options.defaults: options.count = 1
    listed = subprocess.run([options.llmcalc, 'list', 'architectures', '--format', 'csv'], capture_output=True, text=True, check=True)
    known = [line.split(',')[0] for line in listed.stdout.splitlines()[1:]]
    types = options.model_types or [m for m in known if m in CONFIG_MAPPING]
    differences = 0
    for model_type in types:
        keys = dict(CONFIG_MAPPING[model_type]().to_dict())
        compared = skipped = 0
        for i in range(options.count):
            rng = random.Random(f'{options.seed} {model_type} {i}')
            config = asked_for(options.llmcalc, model_type) if options.defaults else Draw(model_type, keys, rng).draw()
            try: want = expected(model_type, config)
            except Exception as error:  # the library refuses it
                skipped += 1
                if skipped == options.count: print(f'{model_type}: every configuration refused, the last with {error!r}', file=sys.stderr)
                continue
            with tempfile.NamedTemporaryFile('w', suffix='.json') as file:
                json.dump(dict(model_type=model_type, **config), file)
                file.flush()
                got = counted(options.llmcalc, file.name)
                if options.flops and model_type not in RECURRENT and 'error' not in got:
                    try:
                        want |= expected_flops(model_type, config)
                        got |= counted_flops(options.llmcalc, file.name)
                    except Exception as error: print(f'# {model_type}: no FLOPs: {error!r} {json.dumps(config)}', file=sys.stderr)
            compared += 1
            if got != want:
                differences += 1
                wrong = {k: (want.get(k), got.get(k)) for k in {**want, **got} if want.get(k) != got.get(k)}
                if 'error' in got: wrong = got['error']
                print(json.dumps(dict(model_type=model_type, **config)), 'library, llmcalc:', wrong, flush=True)
            elif options.rows:
                print('\t'.join([json.dumps(dict(model_type=model_type, **config))] +
                                [str(want[k]) for k in ('total', 'active', 'compute', 'embedding', 'head')] +
                                [str(want['tied']).lower(), want['layers']] +
                                ([str(of(build(model_type, config)[0])) for of in (longest_context, windows)] if options.defaults else
                                 [str(want.get(k, '-')) for k in ('forward', 'model')])))
        print(f'{model_type}: {compared} compared, {skipped} refused by the library', file=sys.stderr, flush=True)
    return 1 if differences else 0


if __name__ == '__main__':
    sys.exit(main())
