// Gemma 4's language model: global layers with heads of their own size and v = k, optionally experts beside the MLP, k
// and v shared by the last layers, and an input of its own for each layer (counted, not traced).
#include <algorithm>
#include <cmath>

#include "core/families/common.hpp"
#include "core/families/families.hpp"
#include "core/transformer/experts.hpp"

namespace llmcalc {
namespace {

const NormSpec gemma_norm{NormKind::rms_float32_weight, true, false};

void add_experts(Fields& f, const TransformerSpec& s, LayerSpec& layer) {
  ExpertsSpec e;
  e.name.clear();
  e.router_name = "router.proj";
  e.router = RouterKind::softmax_top;
  e.normalises = true;
  e.experts = f.count("num_experts");
  e.per_token = std::min(f.count("top_k_experts"), e.experts);
  e.inner = f.count("moe_intermediate_size");
  e.activation = layer.mlp.activation;
  layer.experts = std::make_shared<const ExpertsSpec>(e);
  layer.after_dense = {"post_feedforward_layernorm_1", gemma_norm};
  layer.before_experts = {"pre_feedforward_layernorm_2", gemma_norm};
  layer.after_experts = {"post_feedforward_layernorm_2", gemma_norm};
  layer.extra.push_back({"router.scale", {s.hidden}});
  layer.extra.push_back({"router.per_expert_scale", {e.experts}});
}

}  // namespace

std::unique_ptr<Model> build_gemma4(Fields& f) {
  TransformerSpec s = read_llama_like(f, "gemma4_text",
                                      {.inner = 9216,
                                       .max_seq = 131072,
                                       .kv_heads = 4,
                                       .head_size = 256,
                                       .tied = true,
                                       .activation = "gelu_pytorch_tanh",
                                       .activation_key = "hidden_activation"});
  set_norms(s, gemma_norm);
  s.embedding_multiplier = std::sqrt(static_cast<double>(s.hidden));
  s.logit_softcap = f.optional_number("final_logit_softcapping", std::nullopt);
  LayerSpec& local = s.kinds.front();
  local.after_attention = {"post_attention_layernorm", gemma_norm};
  local.before_mlp = {"pre_feedforward_layernorm", gemma_norm};
  local.after_mlp = {"post_feedforward_layernorm", gemma_norm};
  AttentionSpec& a = local.attention;
  a.qkv_bias = a.out_bias = f.flag("attention_bias", false);
  a.qk_norm = QkNorm::per_head;
  a.q_k_norm = gemma_norm;
  a.norms_v = true;
  a.window = f.optional_count("sliding_window", 512);
  const bool v_is_k = f.flag("attention_k_eq_v", false);
  const Count global_size = f.count("global_head_dim", 512);
  const std::optional<Count> global_kv = f.optional_count("num_global_key_value_heads", std::nullopt);
  if (f.flag("enable_moe_block", false)) {
    add_experts(f, s, local);
  } else {
    f.ignore({"num_experts", "top_k_experts", "moe_intermediate_size"});
  }
  const Count own_input = f.count_or_zero("hidden_size_per_layer_input", 256);
  const Count own_vocabulary = f.count("vocab_size_per_layer_input", 262144);
  if (own_input > 0) {
    const Count layers = static_cast<Count>(s.pattern.size());
    local.extra.push_back({"per_layer_input_gate.weight", {own_input, s.hidden}});
    local.extra.push_back({"per_layer_projection.weight", {s.hidden, own_input}});
    local.extra.push_back({"post_per_layer_input_norm.weight", {s.hidden}});
    s.extra = {{"embed_tokens_per_layer.weight", {own_vocabulary, layers * own_input}, Role::positions},
               {"per_layer_model_projection.weight", {layers * own_input, s.hidden}},
               {"per_layer_projection_norm.weight", {own_input}}};
  }
  read_layer_types(f, s, 6);
  s.pattern.back() = 1;  // the last layer is global whatever the list says
  AttentionSpec& g = s.kinds[1].attention;
  g.qk_size = g.v_size = g.rotary.size = global_size;
  g.v_is_k = v_is_k;
  if (v_is_k && global_kv) g.kv_heads = *global_kv;
  check_heads(f, "num_attention_heads", "num_global_key_value_heads", s.hidden, g.heads, g.kv_heads, HeadSize::apart);
  g.rotary_table = 1;
  s.rotary_sizes.push_back(global_size);
  const Count sharing = f.count_or_zero("num_kv_shared_layers", 0);
  const bool double_wide = f.flag("use_double_wide_mlp", false);
  if (sharing > 0) {
    for (int i = 0; i < 2; ++i) {
      LayerSpec reuses = s.kinds[static_cast<std::size_t>(i)];
      reuses.attention.reuses_kv = true;
      if (double_wide) reuses.mlp.inner *= 2;
      s.kinds.push_back(reuses);
    }
    const std::size_t own = s.pattern.size() - std::min(static_cast<std::size_t>(sharing), s.pattern.size());
    for (std::size_t n = own; n < s.pattern.size(); ++n) s.pattern[n] += 2;
  }
  f.ignore({"use_bidirectional_attention", "hidden_act", "per_layer_config"});
  return make_transformer(std::move(s));
}

}  // namespace llmcalc
