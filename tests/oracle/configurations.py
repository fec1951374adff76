"""Small random configurations of every model type, for architectures.py."""
OMIT = object()

FLAGS = {'attention_bias', 'mlp_bias', 'use_bias', 'bias', 'qkv_bias', 'use_qkv_bias', 'attention_out_bias', 'lm_head_bias',
         'enable_bias', 'use_qk_norm', 'qk_layernorm', 'tie_word_embeddings', 'norm_topk_prob', 'use_sliding_window',
         'use_parallel_residual', 'new_decoder_architecture', 'multi_query', 'parallel_attn', 'alibi', 'do_layer_norm_before',
         'layer_norm_elementwise_affine', 'attention_k_eq_v', 'use_double_wide_mlp',
         'apply_residual_connection_post_layernorm', 'use_conv_bias', 'mamba_conv_bias', 'mamba_proj_bias', 'rope_interleave',
         'scale_attn_by_inverse_layer_idx', '_remove_final_layer_norm'}
HIDDEN = ('hidden_size', 'n_embd', 'd_model')
LAYERS = ('num_hidden_layers', 'n_layer', 'n_layers', 'num_layers')
HEADS = ('num_attention_heads', 'n_head', 'n_heads', 'num_heads')
KV = ('num_key_value_heads', 'num_kv_heads')
EXPERTS = ('n_routed_experts', 'num_local_experts', 'num_experts', 'moe_num_experts')
PER_TOKEN = ('num_experts_per_tok', 'moe_k', 'top_k_experts')


def first(config, names):
    return next((config[n] for n in names if config.get(n) is not None), None)


def divisors(n):
    return [d for d in range(1, n + 1) if n % d == 0]


class Draw:
    """One configuration: `keys` are those the library's class knows, with its defaults."""

    def __init__(self, model_type, keys, rng):
        self.model_type, self.keys, self.rng, self.c = model_type, keys, rng, {}

    def one(self, *values):
        return self.rng.choice(values)

    def set_any(self, names, value):
        for name in names:
            if name in self.keys:
                self.c[name] = value
                return

    def sizes(self):
        r = self.rng
        heads = r.choice([1, 2, 3, 4, 6, 8])
        head = r.choice([2, 4, 6, 8, 10, 12, 16])
        self.hidden = heads * head * r.choice([1, 1, 1, 2])
        if self.model_type in ('recurrent_gemma',):
            self.hidden = heads * head
        elif r.random() < 0.1:
            self.hidden += r.randint(1, heads)
        self.layers, self.heads = r.randint(1, 7), heads
        self.kv = r.choice(divisors(heads))
        self.set_any(HIDDEN, self.hidden)
        self.set_any(LAYERS, self.layers)
        self.set_any(HEADS, heads)
        self.set_any(KV, self.kv)
        self.c['vocab_size'] = r.randint(40, 300)
        if (self.keys.get('pad_token_id') or 0) >= self.c['vocab_size']: self.c['pad_token_id'] = 0
        if 'head_dim' in self.keys and r.random() < 0.6:
            self.c['head_dim'] = r.choice([head, 2, 4, 6, 8, 14, 20])

    def experts(self):
        r = self.rng
        n = r.choice([1, 2, 3, 4, 6, 8])
        self.set_any(EXPERTS, n)
        self.set_any(PER_TOKEN, r.randint(1, n))
        if 'n_group' in self.keys:
            groups = r.choice([d for d in divisors(n) if d == 1 or n // d > 1])  # the two best of a group are added up
            self.c['n_group'], self.c['topk_group'] = groups, r.randint(1, groups)
            if self.keys.get('n_group') is not None:
                kept = n // groups * self.c['topk_group']
                self.set_any(PER_TOKEN, r.randint(1, kept))

    def layer_types(self, names):
        return [self.rng.choice(names) for _ in range(self.layers)]

    def value(self, key):
        """A value for one key, OMIT to leave it out."""
        r, layers = self.rng, self.layers
        if key in FLAGS:
            return r.random() < 0.5
        if key in ('intermediate_size', 'n_inner', 'ffn_dim', 'd_ff', 'ffn_hidden_size', 'moe_intermediate_size',
                   'shared_expert_intermediate_size', 'moe_shared_expert_intermediate_size', 'intermediate_size_mlp'):
            return r.choice([8, 11, 16, 24, 40, 64])
        if key in ('max_position_embeddings', 'n_positions', 'max_seq_len'):
            return r.choice([32, 40, 64])
        if key in ('n_shared_experts', 'moe_num_shared_experts'):
            return r.randint(0 if key != 'n_shared_experts' or self.model_type == 'deepseek_v2' else 1, 3)
        if key == 'first_k_dense_replace':
            return r.randint(0, layers + 1)
        if key in ('kv_lora_rank', 'lru_width', 'o_lora_rank'):
            return r.choice([8, 12, 16])
        if key == 'q_lora_rank':
            return r.choice([6, 10, None]) if self.model_type not in ('deepseek_v32', 'glm_moe_dsa', 'deepseek_v4') else 10
        if key in ('qk_nope_head_dim', 'v_head_dim'):
            return r.choice([4, 6, 8, 10])
        if key == 'qk_rope_head_dim':
            return r.choice([2, 4, 6])
        if key in ('index_n_heads', 'conv_kernel', 'mamba_d_conv', 'linear_conv_kernel_dim', 'conv1d_width', 'hc_mult'):
            return r.randint(1 if key == 'index_n_heads' else 2, 4)
        if key == 'index_head_dim':
            return r.choice([8, 12])
        if key in ('state_size', 'ssm_state_size', 'mamba_d_state', 'time_step_rank', 'mamba_dt_rank'):
            return r.choice([4, 6, 8])
        if key in ('expand', 'mamba_expand'):
            return r.randint(1, 3)
        if key in ('sliding_window', 'window_size', 'attention_window_size'):
            return r.choice([4, 16, 100])
        if key == 'max_window_layers':
            return r.randint(0, layers)
        if key in ('decoder_sparse_step', 'moe_layer_interval', 'interleave_moe_layer_step', 'no_rope_layer_interval'):
            return r.randint(1, 3)
        if key == 'mlp_only_layers':
            return sorted(r.sample(range(layers), r.randint(0, layers)))
        if key == 'moe_layer_start_index':
            return r.randint(0, layers)
        if key == 'moe_layer_end_index':
            return r.choice([-1, layers - 1, max(0, layers - 2)])
        if key == 'type_vocab_size':
            return r.randint(1, 3)
        if key == 'rotary_dim':
            return r.choice([2, 4])
        if key in ('linear_num_key_heads',):
            return 2
        if key in ('linear_num_value_heads',):
            return r.choice([2, 4])
        if key in ('linear_key_head_dim', 'linear_value_head_dim'):
            return r.choice([4, 6])
        if key == 'word_embed_proj_dim':
            return r.choice([self.hidden, 12])
        if key in ('attention_dropout', 'hidden_dropout', 'resid_pdrop', 'embd_pdrop'):
            return r.choice([0.0, 0.1])
        if key == 'clip_qkv':
            return r.choice([None, 2.0])
        if key in ('hidden_act', 'activation_function', 'hidden_activation', 'activation', 'mlp_hidden_act'):
            return r.choice(['gelu', 'relu', 'silu', 'gelu_new', 'gelu_pytorch_tanh', 'relu2'])
        if key == 'n_routed_experts':
            return OMIT
        return OMIT

    def draw(self):
        self.sizes()
        if first(self.keys, EXPERTS) is not None or 'num_experts' in self.keys:
            self.experts()
        for key in self.keys:
            if key in self.c or self.rng.random() < 0.3:
                continue
            value = self.value(key)
            if value is not OMIT:
                self.c[key] = value
        special = getattr(self, 'of_' + self.model_type, None)
        if special:
            special()
        if 'rope_parameters' in self.keys and self.rng.random() < 0.3:
            factor = self.rng.choice([0.5, 1.0])
            if self.model_type in ('phi', 'stablelm', 'glm', 'glm4', 'nemotron', 'glm4_moe', 'phi3', 'gpt_neox', 'minimax_m2'):
                if self.rng.random() < 0.5:
                    self.c['partial_rotary_factor'] = factor
                else:
                    self.c['rope_parameters'] = {'rope_type': 'default', 'rope_theta': 10000.0, 'partial_rotary_factor': factor}
        kept = {k: v for k, v in self.c.items() if v is not OMIT}
        for key in list(kept):  # null is not absent
            if key not in HIDDEN + LAYERS + HEADS + ('vocab_size', 'pad_token_id') and self.rng.random() < 0.03:
                kept[key] = None
        return kept

    # What keys of one family have to do with one another.
    def windows(self, names=('sliding_attention', 'full_attention')):
        if 'layer_types' in self.keys and self.rng.random() < 0.5:
            self.c['layer_types'] = self.layer_types(names)

    def of_qwen2(self):
        if self.rng.random() < 0.4: self.windows()
    of_qwen3 = of_qwen2_moe = of_qwen2

    def of_gemma2(self): self.windows()
    of_gemma3_text = of_cohere2 = of_olmo3 = of_gpt_oss = of_gemma2

    def of_smollm3(self):
        if self.rng.random() < 0.5:
            self.c['no_rope_layers'] = [self.rng.randint(0, 1) for _ in range(self.layers)]

    def of_llama4_text(self):
        if self.rng.random() < 0.3:
            self.c['no_rope_layers'] = [self.rng.randint(0, 1) for _ in range(self.layers)]
        if self.rng.random() < 0.3:
            self.c['moe_layers'] = sorted(self.rng.sample(range(self.layers), self.rng.randint(0, self.layers)))

    def of_gpt_neo(self):
        n = self.rng.randint(1, 3)
        self.layers = 2 * n
        self.c['num_layers'] = self.layers
        self.c['attention_types'] = self.one([[['global', 'local'], n]], [[['local'], n], [['global'], n]])

    def of_bert(self):
        self.c.pop('tie_word_embeddings', None)
        self.c['hidden_size'] = self.hidden = self.heads * max(2, self.hidden // self.heads)

    def of_falcon(self):
        self.c['hidden_size'] = self.heads * self.one(4, 8)
        if not self.c.get('new_decoder_architecture'): self.c.pop('num_kv_heads', None)
        if self.rng.random() < 0.5: self.c.pop('ffn_hidden_size', None)
        if self.rng.random() < 0.3: self.c['num_ln_in_parallel_attn'] = self.one(1, 2)

    def of_dbrx(self):
        r = self.rng
        self.c.pop('num_key_value_heads', None)
        self.c['attn_config'] = {'kv_n_heads': self.kv, 'clip_qkv': r.choice([8.0, None]), 'rope_theta': 1e4}
        n = r.choice([1, 2, 4])
        self.c['ffn_config'] = {'ffn_hidden_size': r.choice([8, 24]), 'moe_num_experts': n, 'moe_top_k': r.randint(1, n),
                                'hidden_size': self.hidden}

    def of_mpt(self):
        r = self.rng
        self.c['no_bias'] = True
        self.c['expansion_ratio'] = r.choice([1, 2, 4])
        if r.random() < 0.5: self.c['attn_config'] = {'attn_type': 'multihead_attention', 'alibi': True, 'clip_qkv': r.choice([None, 6.0])}

    def of_opt(self):
        if self.rng.random() < 0.5: self.c.pop('word_embed_proj_dim', None)
        if 'word_embed_proj_dim' not in self.c: self.c['word_embed_proj_dim'] = self.hidden

    def of_mamba2(self):
        r = self.rng
        expand = self.c['expand'] = r.randint(1, 3)
        inner = expand * self.hidden
        heads = r.choice([d for d in divisors(inner) if d <= 16])
        self.c.update(num_heads=heads, head_dim=inner // heads, n_groups=r.choice(divisors(heads)))

    def of_mamba(self):
        if self.rng.random() < 0.5: self.c['time_step_rank'] = 'auto'
        self.c.pop('intermediate_size', None)
    of_falcon_mamba = of_mamba

    def of_jamba(self):
        r = self.rng
        period = self.c['attn_layer_period'] = r.randint(1, 4)
        self.c['attn_layer_offset'] = r.randint(0, period - 1)
        period = self.c['expert_layer_period'] = r.randint(1, 3)
        self.c['expert_layer_offset'] = r.randint(0, period - 1)

    def of_nemotron_h(self):
        r = self.rng
        heads = r.choice([2, 4, 6])
        self.c.update(mamba_num_heads=heads, mamba_head_dim=r.choice([4, 6]), n_groups=r.choice(divisors(heads)))
        self.c.pop('expand', None)
        letters = [r.choice('M*-E') for _ in range(self.layers)]
        if r.random() < 0.5: self.c['hybrid_override_pattern'] = ''.join(letters)
        else: self.c['layers_block_type'] = [dict(zip('M*-E', ('mamba', 'attention', 'mlp', 'moe')))[x] for x in letters]
        self.c['num_hidden_layers'] = self.layers
        if r.random() < 0.3: self.c['moe_latent_size'] = 10
        self.c.setdefault('head_dim', 8)

    def of_recurrent_gemma(self):
        self.c['intermediate_size'] = self.one(16, 24, 40)
        width = self.one(1, 2)
        self.c['lru_width'] = width * self.hidden
        if self.rng.random() < 0.5: self.c['block_types'] = self.one(['recurrent', 'attention'], ['recurrent', 'recurrent', 'attention'], ['attention'])
        self.c['head_dim'] = OMIT

    def hybrid(self):
        if self.rng.random() < 0.6: self.c['layer_types'] = self.layer_types(('linear_attention', 'full_attention'))
        elif self.rng.random() < 0.5: self.c['full_attention_interval'] = self.rng.randint(1, 4)
        self.c['head_dim'] = self.one(8, 16, 24)
        self.c['linear_num_key_heads'], self.c['linear_num_value_heads'] = self.one((1, 2), (2, 2), (2, 6))
    of_qwen3_next = of_qwen3_5_text = of_qwen3_5_moe_text = hybrid

    def of_t5(self):
        self.c['d_kv'] = self.one(4, 8)
        if self.rng.random() < 0.6: self.c['num_decoder_layers'] = self.rng.randint(1, 4)
        self.c['feed_forward_proj'] = self.one('relu', 'gated-gelu', 'gated-silu', 'gelu')
        self.c.pop('hidden_size', None)
        self.c['decoder_start_token_id'] = 0

    def of_deepseek_v2(self):
        self.c['num_key_value_heads'] = self.heads
    of_deepseek_v3 = of_deepseek_v2

    def of_deepseek_v32(self):
        self.of_deepseek_v2()
        self.c['qk_rope_head_dim'] = self.one(2, 4, 6)
        self.c.pop('first_k_dense_replace', None)
        self.c.pop('head_dim', None)
        if self.model_type == 'glm_moe_dsa':
            if self.rng.random() < 0.3: self.c['indexer_types'] = ['full'] + self.layer_types(('full', 'shared'))[1:]
            elif self.rng.random() < 0.5: self.c['index_topk_freq'] = self.rng.randint(1, 4)
            elif self.rng.random() < 0.5: self.c['index_topk_pattern'] = 'F' + ''.join(self.layer_types('FS'))[1:]
        if self.rng.random() < 0.5: self.c['mlp_layer_types'] = self.layer_types(('dense', 'sparse'))
        elif self.rng.random() < 0.5: self.c['first_k_dense_replace'] = self.rng.randint(0, self.layers)
    of_glm_moe_dsa = of_deepseek_v32

    def of_deepseek_v4(self):
        self.c['num_key_value_heads'] = 1
        self.c['head_dim'] = self.one(16, 32)
        self.c['qk_rope_head_dim'] = self.one(4, 8)
        self.c['o_groups'] = self.one(*divisors(self.heads))
        if self.rng.random() < 0.6:
            self.c['layer_types'] = self.layer_types(('sliding_attention', 'compressed_sparse_attention', 'heavily_compressed_attention'))
        if self.rng.random() < 0.5: self.c['mlp_layer_types'] = self.layer_types(('moe', 'hash_moe'))

    def of_gemma4_text(self):
        r = self.rng
        self.windows()
        if 'layer_types' in self.c: self.c['layer_types'][-1] = 'full_attention'
        self.c['hidden_size_per_layer_input'] = r.choice([0, 8])
        self.c['vocab_size_per_layer_input'] = self.c['vocab_size']
        if r.random() < 0.5: self.c['global_head_dim'] = r.choice([8, 16])
        if r.random() < 0.4: self.c['num_global_key_value_heads'] = r.choice(divisors(self.heads))
        if r.random() < 0.4: self.c['num_kv_shared_layers'] = r.randint(0, max(0, self.layers - 2))
        if r.random() < 0.4:
            self.c.update(enable_moe_block=True, num_experts=4, top_k_experts=r.randint(1, 4), moe_intermediate_size=8)
        else:
            for key in ('num_experts', 'top_k_experts', 'moe_intermediate_size'): self.c.pop(key, None)
