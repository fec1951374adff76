// Falcon: one key/value head (7B), the new decoder with groups of heads (40B, 180B), rotary positions or ALiBi.
#include "core/families/common.hpp"
#include "core/families/families.hpp"

namespace llmcalc {

std::unique_ptr<Model> build_falcon(Fields& f) {
  const NormSpec layer_norm{NormKind::layer, true, true};
  TransformerSpec s;
  s.architecture = "falcon";
  s.base = "transformer.";
  s.layers_name = "h";
  s.embedding_name = "word_embeddings";
  s.final_norm = {"ln_f", layer_norm};
  s.hidden = f.count({"hidden_size", "n_embed"}, 4544);
  s.pattern.assign(static_cast<std::size_t>(f.layers({"num_hidden_layers", "n_layer"}, 32)), 0);
  s.vocabulary = f.count("vocab_size", 65024);
  s.max_seq = f.count("max_position_embeddings", 2048);
  s.tied = f.flag("tie_word_embeddings", true);
  LayerSpec layer;
  layer.before_attention.norm = layer.before_mlp.norm = layer_norm;
  AttentionSpec& a = layer.attention;
  a.name = "self_attention";
  a.qkv_name = "query_key_value";
  a.out_name = "dense";
  a.linear = layer.mlp.linear = LinearForm::matmul;
  const bool biases = f.flag("bias", false), new_decoder = f.flag("new_decoder_architecture", false);
  const bool one_kv_head = f.flag("multi_query", true) && !new_decoder;
  a.heads = f.count({"num_attention_heads", "n_head"}, 71);
  const Count groups = f.optional_count({"num_kv_heads", "n_head_kv"}, std::nullopt).value_or(a.heads);
  a.kv_heads = new_decoder ? groups : one_kv_head ? 1 : a.heads;
  check_heads(f, "num_attention_heads", "num_kv_heads", s.hidden, a.heads, a.kv_heads, HeadSize::divides);
  a.qk_size = a.v_size = s.hidden / a.heads;
  a.qkv_form = new_decoder ? QkvForm::groups : one_kv_head ? QkvForm::one_kv_last : QkvForm::heads_select;
  a.qkv_bias = a.out_bias = biases;
  a.dropout = f.rate("attention_dropout", 0);
  const double hidden_dropout = f.rate("hidden_dropout", 0);
  if (f.flag("alibi", false)) {
    s.alibi = "falcon";
    a.scores.form = ScoreForm::falcon_alibi;
  } else {
    a.scores.form = ScoreForm::falcon;
    a.rotary = {RotaryStyle::halves, a.qk_size, false};
    s.rotary_sizes = {a.qk_size};
  }
  const bool parallel = f.flag("parallel_attn", true);
  Count norms = f.optional_count("num_ln_in_parallel_attn", std::nullopt).value_or(new_decoder ? 2 : 1);
  if (parallel || new_decoder) {
    if (!parallel) {  // the library builds the norms of layers in turn, and adds up in parallel all the same
      norms = 1;
      layer.extra = {{"post_attention_layernorm.weight", {s.hidden}}, {"post_attention_layernorm.bias", {s.hidden}}};
    }
    layer.form = BlockForm::parallel;
    layer.adds_in_place = true;
    layer.residual_dropout = hidden_dropout;
    if (norms == 2) layer.before_attention.name = "ln_attn";
    layer.before_mlp.name = norms == 2 ? "ln_mlp" : "";
  } else {
    a.out_dropout = a.dropout;
    layer.mlp.dropout = hidden_dropout;
  }
  set_plain_mlp(layer.mlp, biases, "dense_h_to_4h", "dense_4h_to_h");
  layer.mlp.inner = f.optional_count("ffn_hidden_size", std::nullopt).value_or(4 * s.hidden);
  layer.mlp.activation = read_activation(f, "activation", "gelu");
  f.ignore({"layer_norm_epsilon", "apply_residual_connection_post_layernorm", "rope_theta", "rope_scaling",
            "rope_parameters"});
  s.kinds.push_back(layer);
  return make_transformer(std::move(s));
}

}  // namespace llmcalc
