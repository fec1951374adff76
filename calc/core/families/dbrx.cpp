// DBRX: experts everywhere, fused and clipped q/k/v, LayerNorm without bias.
#include <cmath>

#include "core/families/common.hpp"
#include "core/families/families.hpp"
#include "core/transformer/experts.hpp"

namespace llmcalc {

std::unique_ptr<Model> build_dbrx(Fields& f) {
  const NormSpec layer_norm{NormKind::layer, true, false};
  TransformerSpec s;
  s.architecture = "dbrx";
  s.base = "transformer.";
  s.layers_name = "blocks";
  s.embedding_name = "wte";
  s.final_norm = {"norm_f", layer_norm};
  s.hidden = f.count({"d_model", "hidden_size"}, 2048);
  s.pattern.assign(static_cast<std::size_t>(f.layers({"n_layers", "num_hidden_layers"}, 24)), 0);
  s.vocabulary = f.count("vocab_size", 32000);
  s.max_seq = f.optional_count("max_seq_len", 2048).value_or(2048);
  s.tied = f.flag("tie_word_embeddings", false);
  const auto whole = [&](const char* outer, const char* key, Count assumed) {
    const double value = nested_number(f, outer, key).value_or(static_cast<double>(assumed));
    if (value >= 1 && value <= static_cast<double>(Fields::largest_count) && value == std::floor(value))
      return static_cast<Count>(value);
    f.error(outer, std::string(key) + " must be a whole number of at least 1");
    return Count{1};
  };
  LayerSpec layer;
  layer.name = "moe";
  layer.before_attention = {"norm_attn_norm.norm_1", layer_norm};
  layer.before_mlp = {"norm_attn_norm.norm_2", layer_norm};
  AttentionSpec& a = layer.attention;
  a.name = "norm_attn_norm.attn";
  a.qkv_name = "Wqkv";
  a.out_name = "out_proj";
  a.qkv_form = QkvForm::split;
  a.heads = f.count({"n_heads", "num_attention_heads"}, 16);
  a.kv_heads = whole("attn_config", "kv_n_heads", 1);
  check_heads(f, "n_heads", "attn_config", s.hidden, a.heads, a.kv_heads, HeadSize::divides);
  a.qk_size = a.v_size = s.hidden / a.heads;
  a.rotary = {RotaryStyle::halves, a.qk_size, false};
  s.rotary_sizes = {a.qk_size};
  a.clips_qkv = true;  // the clamp runs even without limits
  a.dropout = nested_number(f, "attn_config", "attn_pdrop").value_or(0);
  a.out_dropout = f.rate("resid_pdrop", 0);
  ExpertsSpec e;
  e.name = "ffn";
  e.router_name = "router.layer";
  e.router = RouterKind::softmax_norm;
  e.storage = ExpertsStorage::rows_of_all;
  e.normalises = true;
  e.experts = whole("ffn_config", "moe_num_experts", 4);
  e.per_token = whole("ffn_config", "moe_top_k", 1);
  e.inner = whole("ffn_config", "ffn_hidden_size", 3584);
  if (e.per_token > e.experts) {
    f.error("ffn_config", "a token cannot visit more experts than there are");
    e.per_token = e.experts;
  }
  f.ignore({"emb_pdrop", "output_router_logits", "router_aux_loss_coef"});
  layer.experts = std::make_shared<const ExpertsSpec>(e);
  s.kinds.push_back(layer);
  return make_transformer(std::move(s));
}

}  // namespace llmcalc
