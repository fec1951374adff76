// GPT-J and GPT-NeoX (Pythia): LayerNorm, partial rotary positions, attention and MLP in parallel.
#include <algorithm>

#include "core/families/common.hpp"
#include "core/families/families.hpp"

namespace llmcalc {
namespace {

const NormSpec layer_norm{NormKind::layer, true, true};

}  // namespace

std::unique_ptr<Model> build_gptj(Fields& f) {
  TransformerSpec s;
  s.architecture = "gptj";
  s.base = "transformer.";
  s.layers_name = "h";
  s.embedding_name = "wte";
  s.hidden = f.count({"n_embd", "hidden_size"}, 4096);
  s.pattern.assign(static_cast<std::size_t>(f.layers({"n_layer", "num_hidden_layers"}, 28)), 0);
  s.vocabulary = f.count("vocab_size", 50400);
  s.max_seq = f.count({"n_positions", "max_position_embeddings"}, 2048);
  s.tied = f.flag("tie_word_embeddings", false);
  s.embedding_dropout = f.rate("embd_pdrop", 0);
  s.final_norm = {"ln_f", layer_norm};
  s.head_bias = true;
  LayerSpec layer;
  layer.form = BlockForm::parallel;
  layer.before_attention = {"ln_1", layer_norm};
  layer.before_mlp = {};
  AttentionSpec& a = layer.attention;
  a.name = "attn";
  a.out_name = "out_proj";
  a.heads = a.kv_heads = f.count({"n_head", "num_attention_heads"}, 16);
  check_heads(f, {"n_head", "num_attention_heads"}, "n_head", s.hidden, a.heads, a.heads, HeadSize::divides);
  a.qk_size = a.v_size = s.hidden / a.heads;
  const std::optional<Count> rotary = f.optional_count("rotary_dim", 64);
  a.rotary = {RotaryStyle::pairs_by_token, rotary.value_or(a.qk_size), rotary.has_value()};
  check_rotary(f, "rotary_dim", a.rotary.size, a.qk_size);
  a.rotary.size = std::min(a.rotary.size, a.qk_size);
  s.rotary_sizes = {a.rotary.size};
  a.scores.q_k_in_float32 = true;
  a.scores.softmax = SoftmaxForm::plain;
  a.dropout = f.rate("attn_pdrop", 0);
  a.out_dropout = layer.mlp.dropout = f.rate("resid_pdrop", 0);
  set_plain_mlp(layer.mlp, true, "fc_in", "fc_out");
  layer.mlp.inner = f.optional_count("n_inner", std::nullopt).value_or(4 * s.hidden);
  layer.mlp.activation = read_activation(f, "activation_function", "gelu_new");
  f.ignore({"layer_norm_epsilon", "rotary", "n_ctx", "scale_attn_weights"});
  s.kinds.push_back(layer);
  return make_transformer(std::move(s));
}

std::unique_ptr<Model> build_gpt_neox(Fields& f) {
  TransformerSpec s;
  s.architecture = "gpt_neox";
  s.base = "gpt_neox.";
  s.embedding_name = "embed_in";
  s.hidden = f.count("hidden_size", 6144);
  s.pattern.assign(static_cast<std::size_t>(f.layers("num_hidden_layers", 44)), 0);
  s.vocabulary = f.count("vocab_size", 50432);
  s.max_seq = f.count("max_position_embeddings", 2048);
  s.tied = f.flag("tie_word_embeddings", false);
  s.final_norm = {"final_layer_norm", layer_norm};
  LayerSpec layer;
  layer.form = f.flag("use_parallel_residual", true) ? BlockForm::parallel : BlockForm::sequential;
  layer.before_attention.norm = layer.before_mlp.norm = layer_norm;
  AttentionSpec& a = layer.attention;
  a.name = "attention";
  a.qkv_name = "query_key_value";
  a.out_name = "dense";
  a.qkv_form = QkvForm::heads_of_qkv;
  a.qkv_bias = a.out_bias = f.flag("attention_bias", true);
  a.heads = a.kv_heads = f.count("num_attention_heads", 64);
  check_heads(f, "num_attention_heads", "num_attention_heads", s.hidden, a.heads, a.heads, HeadSize::divides);
  a.qk_size = a.v_size = s.hidden / a.heads;
  const double fraction = f.rate("rotary_pct", 0.25);
  a.rotary = {RotaryStyle::halves, rotary_size(f, a.qk_size, fraction), true};
  s.rotary_sizes = {a.rotary.size};
  a.dropout = f.rate("attention_dropout", 0);
  a.out_dropout = layer.mlp.dropout = s.embedding_dropout = f.rate("hidden_dropout", 0);
  set_plain_mlp(layer.mlp, true, "dense_h_to_4h", "dense_4h_to_h");
  layer.mlp.inner = f.count("intermediate_size", 24576);
  layer.mlp.activation = read_activation(f, "hidden_act", "gelu");
  f.ignore({"layer_norm_eps", "rotary_emb_base", "classifier_dropout", "rope_theta", "rope_scaling", "is_decoder"});
  s.kinds.push_back(layer);
  return make_transformer(std::move(s));
}

}  // namespace llmcalc
