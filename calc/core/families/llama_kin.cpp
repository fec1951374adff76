// Families that are llama but for a few switches: Granite (multipliers), SmolLM3 (layers without positions), Arcee and
// Apertus (ungated MLPs), Seed-OSS (dropout), Ernie 4.5 and GLM (rotation of neighbours).
#include "core/families/common.hpp"
#include "core/families/families.hpp"

namespace llmcalc {

std::unique_ptr<Model> build_granite(Fields& f) {
  TransformerSpec s = read_llama_like(f, "granite", {});
  LayerSpec& layer = s.kinds.front();
  layer.attention.qkv_bias = layer.attention.out_bias = f.flag("attention_bias", false);
  layer.mlp.up_bias = layer.mlp.down_bias = f.flag("mlp_bias", false);
  s.embedding_multiplier = f.number("embedding_multiplier", 1);
  s.logit_scale = f.number("logits_scaling", 1);
  layer.residual_multiplier = f.number("residual_multiplier", 1);
  f.ignore("attention_multiplier");
  return make_transformer(std::move(s));
}

std::unique_ptr<Model> build_smollm3(Fields& f) {
  TransformerSpec s = read_llama_like(f, "smollm3", {.inner = 11008, .max_seq = 32768, .kv_heads = 4, .tied = true});
  LayerSpec& layer = s.kinds.front();
  layer.attention.qkv_bias = layer.attention.out_bias = f.flag("attention_bias", false);
  layer.mlp.up_bias = layer.mlp.down_bias = f.flag("mlp_bias", false);
  const std::vector<Count> with_positions = f.counts("no_rope_layers");  // 1: has them, whatever the name says
  const Count period = f.count("no_rope_layer_interval", 4);
  if (!with_positions.empty() && with_positions.size() != s.pattern.size())
    f.error("no_rope_layers", "must name as many layers as the model has");
  const std::optional<Count> window = f.optional_count("sliding_window", std::nullopt);
  const bool windows = f.flag("use_sliding_window", false) && window;
  f.ignore({"layer_types", "max_window_layers"});
  s.kinds.push_back(layer);
  s.kinds[1].attention.rotary.style = RotaryStyle::none;
  if (windows) s.kinds[1].attention.window = window;
  for (std::size_t i = 0; i < s.pattern.size(); ++i) {
    const bool positions =
        with_positions.size() == s.pattern.size() ? with_positions[i] != 0 : (static_cast<Count>(i) + 1) % period != 0;
    s.pattern[i] = positions ? 0 : 1;
  }
  return make_transformer(std::move(s));
}

std::unique_ptr<Model> build_arcee(Fields& f) {
  TransformerSpec s = read_llama_like(
      f, "arcee", {.inner = 18432, .max_seq = 4096, .activation = "relu2", .sizing = HeadSize::divides});
  LayerSpec& layer = s.kinds.front();
  layer.attention.qkv_bias = layer.attention.out_bias = f.flag("attention_bias", false);
  set_plain_mlp(layer.mlp, f.flag("mlp_bias", false), "up_proj", "down_proj");
  return make_transformer(std::move(s));
}

std::unique_ptr<Model> build_apertus(Fields& f) {
  TransformerSpec s = read_llama_like(f, "apertus", {.inner = 14336, .max_seq = 65536, .activation = "xielu"});
  LayerSpec& layer = s.kinds.front();
  layer.attention.qkv_bias = layer.attention.out_bias = f.flag("attention_bias", false);
  layer.attention.qk_norm = QkNorm::per_head;
  layer.before_attention.name = "attention_layernorm";
  layer.before_mlp.name = "feedforward_layernorm";
  set_plain_mlp(layer.mlp, false, "up_proj", "down_proj");
  f.ignore({"mlp_bias", "post_norm", "qk_norm"});
  return make_transformer(std::move(s));
}

std::unique_ptr<Model> build_seed_oss(Fields& f) {
  TransformerSpec s = read_llama_like(
      f, "seed_oss", {.inner = 27648, .max_seq = 524288, .kv_heads = 8, .head_size = 128, .attention_dropout = 0.1});
  LayerSpec& layer = s.kinds.front();
  layer.attention.qkv_bias = f.flag("attention_bias", true);
  layer.attention.out_bias = f.flag("attention_out_bias", false);
  layer.mlp.up_bias = layer.mlp.down_bias = f.flag("mlp_bias", false);
  layer.attention.out_dropout = layer.mlp.dropout = f.rate("residual_dropout", 0.1);
  return make_transformer(std::move(s));
}

std::unique_ptr<Model> build_ernie4_5(Fields& f) {
  TransformerSpec s =
      read_llama_like(f, "ernie4_5", {.inner = 3072, .max_seq = 131072, .kv_heads = 2, .head_size = 128, .tied = true});
  LayerSpec& layer = s.kinds.front();
  const bool biases = f.flag("use_bias", false);
  layer.attention.qkv_bias = layer.attention.out_bias = layer.mlp.up_bias = layer.mlp.down_bias = biases;
  layer.attention.rotary.style = RotaryStyle::pairs_float32;
  layer.attention.dropout = 0;
  return make_transformer(std::move(s));
}

namespace {

TransformerSpec read_glm(Fields& f, std::string architecture) {
  TransformerSpec s =
      read_llama_like(f, std::move(architecture), {.inner = 13696, .max_seq = 131072, .kv_heads = 2, .head_size = 128});
  LayerSpec& layer = s.kinds.front();
  layer.attention.qkv_bias = f.flag("attention_bias", true);
  layer.attention.rotary.style = RotaryStyle::pairs;
  layer.mlp.fused = true;
  set_partial_rotary(s, rotary_size(f, layer.attention.qk_size, 0.5));
  return s;
}

}  // namespace

std::unique_ptr<Model> build_glm(Fields& f) { return make_transformer(read_glm(f, "glm")); }

std::unique_ptr<Model> build_glm4(Fields& f) {
  TransformerSpec s = read_glm(f, "glm4");
  s.kinds.front().after_attention.name = "post_self_attn_layernorm";
  s.kinds.front().after_mlp.name = "post_mlp_layernorm";
  return make_transformer(std::move(s));
}

}  // namespace llmcalc
