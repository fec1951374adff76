// Gemma 1 to 3: norms by 1 + weight in float32, scaled embeddings; from 2 on norms on both sides of each part and local
// layers; soft-capped scores and logits (2), q/k norms and two rotary tables (3).
#include <cmath>

#include "core/families/common.hpp"
#include "core/families/families.hpp"

namespace llmcalc {
namespace {

const NormSpec gemma_norm{NormKind::rms_plus_one, true, false};

TransformerSpec read_gemma(Fields& f, std::string architecture, LlamaDefaults assumed) {
  assumed.head_size = 256;
  assumed.tied = true;
  assumed.activation = "gelu_pytorch_tanh";
  TransformerSpec s = read_llama_like(f, std::move(architecture), assumed);
  AttentionSpec& a = s.kinds.front().attention;
  a.qkv_bias = a.out_bias = f.flag("attention_bias", false);
  s.embedding_multiplier = std::sqrt(static_cast<double>(s.hidden));
  set_norms(s, gemma_norm);
  f.ignore({"query_pre_attn_scalar", "rope_local_base_freq", "cache_implementation"});
  if (f.flag("use_bidirectional_attention", false))
    f.error("use_bidirectional_attention", "attention in both directions is not known here");
  return s;
}

void norm_both_sides(TransformerSpec& s) {
  LayerSpec& layer = s.kinds.front();
  layer.after_attention = {"post_attention_layernorm", gemma_norm};
  layer.before_mlp = {"pre_feedforward_layernorm", gemma_norm};
  layer.after_mlp = {"post_feedforward_layernorm", gemma_norm};
}

}  // namespace

std::unique_ptr<Model> build_gemma(Fields& f) {
  TransformerSpec s = read_gemma(f, "gemma", {.inner = 24576, .max_seq = 8192, .kv_heads = 16});
  f.ignore("hidden_activation");
  return make_transformer(std::move(s));
}

std::unique_ptr<Model> build_gemma2(Fields& f) {
  TransformerSpec s =
      read_gemma(f, "gemma2", {.inner = 9216, .max_seq = 8192, .kv_heads = 4, .activation_key = "hidden_activation"});
  f.ignore("hidden_act");
  norm_both_sides(s);
  AttentionSpec& a = s.kinds.front().attention;
  a.window = f.optional_count("sliding_window", 4096);
  a.scores.softcap = f.optional_number("attn_logit_softcapping", 50.0);
  if (a.scores.softcap) a.why_not_fused = "its scores are soft-capped";
  s.logit_softcap = f.optional_number("final_logit_softcapping", 30.0);
  read_layer_types(f, s, 2);
  return make_transformer(std::move(s));
}

std::unique_ptr<Model> build_gemma3(Fields& f) {
  TransformerSpec s = read_gemma(
      f, "gemma3_text", {.inner = 9216, .max_seq = 131072, .kv_heads = 4, .activation_key = "hidden_activation"});
  f.ignore({"hidden_act", "attn_logit_softcapping"});
  norm_both_sides(s);
  AttentionSpec& a = s.kinds.front().attention;
  a.window = f.optional_count("sliding_window", 4096);
  a.qk_norm = QkNorm::per_head;
  a.q_k_norm = gemma_norm;
  s.logit_softcap = f.optional_number("final_logit_softcapping", std::nullopt);
  read_layer_types(f, s, f.count("sliding_window_pattern", 6));
  s.kinds[1].attention.rotary_table = 1;
  s.rotary_sizes.push_back(s.rotary_sizes.front());
  return make_transformer(std::move(s));
}

}  // namespace llmcalc
