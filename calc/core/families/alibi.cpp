// Bloom and MPT: position biases on the scores (ALiBi) instead of positions.
#include "core/families/common.hpp"
#include "core/families/families.hpp"

namespace llmcalc {

std::unique_ptr<Model> build_bloom(Fields& f) {
  const NormSpec layer_norm{NormKind::layer, true, true};
  TransformerSpec s;
  s.architecture = "bloom";
  s.base = "transformer.";
  s.layers_name = "h";
  s.embedding_name = "word_embeddings";
  s.embedding_norm = {"word_embeddings_layernorm", layer_norm};
  s.final_norm = {"ln_f", layer_norm};
  s.alibi = "bloom";
  s.hidden = f.count({"hidden_size", "n_embed"}, 64);
  s.pattern.assign(static_cast<std::size_t>(f.layers({"n_layer", "num_hidden_layers"}, 2)), 0);
  s.vocabulary = f.count("vocab_size", 250880);
  s.max_seq = f.count("seq_length", 2048);
  s.tied = f.flag("tie_word_embeddings", true);
  LayerSpec layer;
  layer.before_attention.norm = layer.before_mlp.norm = layer_norm;
  layer.residual_is_normed = f.flag("apply_residual_connection_post_layernorm", false);
  AttentionSpec& a = layer.attention;
  a.name = "self_attention";
  a.qkv_name = "query_key_value";
  a.out_name = "dense";
  a.qkv_form = QkvForm::heads_select;
  a.qkv_bias = a.out_bias = true;
  a.heads = a.kv_heads = f.count({"n_head", "num_attention_heads"}, 8);
  check_heads(f, {"n_head", "num_attention_heads"}, "n_head", s.hidden, a.heads, a.heads, HeadSize::divides);
  a.qk_size = a.v_size = s.hidden / a.heads;
  a.scores.form = ScoreForm::batched_alibi;
  a.why_not_fused = "Bloom has only its own attention";
  a.dropout = f.rate("attention_dropout", 0);
  a.out_dropout = layer.mlp.dropout = f.rate("hidden_dropout", 0);
  set_plain_mlp(layer.mlp, true, "dense_h_to_4h", "dense_4h_to_h");
  layer.mlp.inner = 4 * s.hidden;
  layer.mlp.activation = Activation::gelu_bloom;
  f.ignore({"layer_norm_epsilon", "pretraining_tp", "slow_but_exact", "masked_softmax_fusion", "bias_dropout_fusion",
            "attention_softmax_in_fp32", "offset_alibi", "skip_bias_add", "skip_bias_add_qkv", "unk_token_id"});
  s.kinds.push_back(layer);
  return make_transformer(std::move(s));
}

std::unique_ptr<Model> build_mpt(Fields& f) {
  const NormSpec layer_norm{NormKind::layer, true, false};
  TransformerSpec s;
  s.architecture = "mpt";
  s.base = "transformer.";
  s.layers_name = "blocks";
  s.embedding_name = "wte";
  s.final_norm = {"norm_f", layer_norm};
  s.alibi = "mpt";
  s.hidden = f.count({"d_model", "hidden_size"}, 2048);
  s.pattern.assign(static_cast<std::size_t>(f.layers({"n_layers", "num_hidden_layers"}, 24)), 0);
  s.vocabulary = f.count("vocab_size", 50368);
  s.max_seq = f.count("max_seq_len", 2048);
  s.tied = f.flag("tie_word_embeddings", true);
  LayerSpec layer;
  layer.before_attention = {"norm_1", layer_norm};
  layer.before_mlp = {"norm_2", layer_norm};
  AttentionSpec& a = layer.attention;
  a.name = "attn";
  a.qkv_name = "Wqkv";
  a.out_name = "out_proj";
  a.qkv_form = QkvForm::chunks;
  a.heads = a.kv_heads = f.count({"n_heads", "num_attention_heads"}, 16);
  check_heads(f, {"n_heads", "num_attention_heads"}, "n_heads", s.hidden, a.heads, a.heads, HeadSize::divides);
  a.qk_size = a.v_size = s.hidden / a.heads;
  a.scores.form = ScoreForm::mpt;
  a.scores.softmax = SoftmaxForm::float32_copy;
  a.why_not_fused = "MPT has only its own attention";
  a.clips_qkv = nested_number(f, "attn_config", "clip_qkv").value_or(0) != 0;
  a.dropout = a.out_dropout = layer.mlp.dropout = nested_number(f, "attn_config", "attn_pdrop").value_or(0);
  set_plain_mlp(layer.mlp, false, "up_proj", "down_proj");
  layer.mlp.name = "ffn";
  layer.mlp.inner = 4 * s.hidden;  // whatever expansion_ratio says, as the library builds it
  layer.mlp.activation = Activation::gelu;
  f.ignore({"expansion_ratio", "no_bias", "resid_pdrop", "emb_pdrop", "learned_pos_emb", "logit_scale", "norm_type",
            "embedding_fraction", "layer_norm_epsilon", "init_config", "ffn_config", "fc_type"});
  s.kinds.push_back(layer);
  return make_transformer(std::move(s));
}

}  // namespace llmcalc
