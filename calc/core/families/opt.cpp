// OPT: learned positions with two spare rows, norms before or (350M) after, an embedding of its own width (350M).
#include "core/families/common.hpp"
#include "core/families/families.hpp"

namespace llmcalc {

std::unique_ptr<Model> build_opt(Fields& f) {
  TransformerSpec s;
  s.architecture = "opt";
  s.base = "model.decoder.";
  s.positions_name = "embed_positions";
  s.hidden = f.count("hidden_size", 768);
  s.pattern.assign(static_cast<std::size_t>(f.layers("num_hidden_layers", 12)), 0);
  s.vocabulary = f.count("vocab_size", 50272);
  s.max_seq = f.count("max_position_embeddings", 2048);
  constexpr Count spare_positions = 2;
  s.positions = s.max_seq + spare_positions;
  s.position_ids_per_sequence = true;
  s.embedding_size = f.optional_count("word_embed_proj_dim", 768).value_or(s.hidden);
  s.tied = f.flag("tie_word_embeddings", true);
  const bool norm_first = f.flag("do_layer_norm_before", true),
             weighted = f.flag("layer_norm_elementwise_affine", true);
  const bool biases = f.flag("enable_bias", true);
  const NormSpec layer_norm{NormKind::layer, weighted, weighted};
  s.final_norm = norm_first && !f.flag("_remove_final_layer_norm", false) ? NamedNorm{"final_layer_norm", layer_norm}
                                                                          : NamedNorm{};
  LayerSpec layer;
  layer.form = norm_first ? BlockForm::sequential : BlockForm::norm_after_add;
  layer.before_attention = {"self_attn_layer_norm", layer_norm};
  layer.before_mlp = {"final_layer_norm", layer_norm};
  AttentionSpec& a = layer.attention;
  a.out_name = "out_proj";
  a.qkv_bias = a.out_bias = biases;
  a.scales_q = true;
  a.heads = a.kv_heads = f.count("num_attention_heads", 12);
  check_heads(f, "num_attention_heads", "num_attention_heads", s.hidden, a.heads, a.heads, HeadSize::divides);
  a.qk_size = a.v_size = s.hidden / a.heads;
  a.dropout = f.rate("attention_dropout", 0);
  a.out_dropout = layer.mlp.dropout = f.rate("dropout", 0.1);
  set_plain_mlp(layer.mlp, biases, "fc1", "fc2");
  layer.mlp.name.clear();
  layer.mlp.inner = f.count("ffn_dim", 3072);
  layer.mlp.activation = read_activation(f, "activation_function", "relu");
  f.ignore({"layerdrop", "activation_dropout"});
  s.kinds.push_back(layer);
  return make_transformer(std::move(s));
}

}  // namespace llmcalc
