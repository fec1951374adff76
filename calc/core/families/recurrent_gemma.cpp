// RecurrentGemma (Griffin): two recurrent blocks, then local attention, each with a gated MLP; Gemma's norms.
#include <cmath>

#include "core/families/common.hpp"
#include "core/families/families.hpp"
#include "core/mixers/mixers.hpp"

namespace llmcalc {
namespace {

// block_types repeated over the layers: 0 recurrent, 1 attention.
void read_pattern(Fields& f, TransformerSpec& s) {
  std::vector<std::string> types = f.texts("block_types");
  if (types.empty()) types = {"recurrent", "recurrent", "attention"};
  for (const std::string& type : types)
    if (type != "recurrent" && type != "attention") f.error("block_types", "unknown block '" + type + "'");
  for (std::size_t n = 0; n < s.pattern.size(); ++n) s.pattern[n] = types[n % types.size()] == "recurrent" ? 0 : 1;
}

}  // namespace

std::unique_ptr<Model> build_recurrent_gemma(Fields& f) {
  TransformerSpec s;
  s.architecture = "recurrent_gemma";
  s.hidden = f.count("hidden_size", 2560);
  s.vocabulary = f.count("vocab_size", 256000);
  s.pattern.assign(static_cast<std::size_t>(f.layers("num_hidden_layers", 26)), 0);
  s.tied = f.flag("tie_word_embeddings", true);
  s.embedding_multiplier = std::sqrt(static_cast<double>(s.hidden));
  s.logit_softcap = f.number("logits_soft_cap", 30.0);
  s.final_norm.name = "final_norm";
  LayerSpec layer;
  layer.before_attention.name = "temporal_pre_norm";
  layer.before_mlp.name = "channel_pre_norm";
  layer.mlp.name = "mlp_block";
  layer.mlp.inner = f.count("intermediate_size", 7680) / 2;
  layer.mlp.activation = read_activation(f, "hidden_activation", "gelu_pytorch_tanh");
  layer.mlp.up_bias = layer.mlp.down_bias = true;
  AttentionSpec& a = layer.attention;
  a.name = "temporal_block";
  a.heads = f.count("num_attention_heads", 10);
  a.kv_heads = f.optional_count("num_key_value_heads", std::nullopt).value_or(a.heads);
  const std::optional<Count> head_size = f.optional_count("head_dim", std::nullopt);
  a.qk_size = a.v_size = head_size.value_or(s.hidden / a.heads);
  check_heads(f, "num_attention_heads", "num_key_value_heads", s.hidden, a.heads, a.kv_heads,
              head_size ? HeadSize::apart : HeadSize::divides);
  a.qkv_bias = f.flag("attention_bias", false);
  a.out_bias = true;
  a.dropout = f.rate("attention_dropout", 0);
  a.window = f.count({"attention_window_size", "sliding_window"}, 2048);
  a.rotary = {RotaryStyle::halves, a.qk_size, false, true};
  RecurrentBlockSpec block;
  block.hidden = s.hidden;
  block.channels = f.optional_count("lru_width", std::nullopt).value_or(s.hidden);
  block.blocks = a.heads;
  block.width = f.count("conv1d_width", 4);
  block.activation = layer.mlp.activation;
  if (block.channels % block.blocks != 0) f.error("lru_width", "num_attention_heads does not divide it");
  read_pattern(f, s);
  f.ignore({"rms_norm_eps", "rope_parameters", "rope_theta", "w_init_variance_scale", "final_w_init_variance_scale",
            "max_position_embeddings", "hidden_act"});

  LayerSpec recurrent = layer;
  recurrent.name = "recurrent";
  recurrent.has_attention = false;
  recurrent.mixer = make_recurrent_block(block);
  layer.name = "attention";
  s.kinds = {recurrent, layer};
  set_partial_rotary(s, rotary_size(f, a.qk_size, 0.5));
  set_norms(s, {NormKind::rms_plus_one, true, false});
  std::unique_ptr<Model> model = make_transformer(std::move(s));
  model->parameters.buffers().push_back({"model.normalizer", size_of(DType::bfloat16)});
  return model;
}

}  // namespace llmcalc
