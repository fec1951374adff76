// OLMo 1 to 3: rotation in float32; norms without weights (1), or after each part and over whole q and k (2, 3).
#include "core/families/common.hpp"
#include "core/families/families.hpp"

namespace llmcalc {
namespace {

TransformerSpec read_olmo(Fields& f, std::string architecture) {
  TransformerSpec s = read_llama_like(f, std::move(architecture), {});
  AttentionSpec& a = s.kinds.front().attention;
  a.qkv_bias = a.out_bias = f.flag("attention_bias", false);
  a.rotary.style = RotaryStyle::halves_float32;
  return s;
}

TransformerSpec read_olmo2(Fields& f, std::string architecture) {
  TransformerSpec s = read_olmo(f, std::move(architecture));
  const NormSpec norm{NormKind::rms_weighted_inside, true, false};
  LayerSpec& layer = s.kinds.front();
  layer.before_attention = layer.before_mlp = {};
  layer.after_attention.name = "post_attention_layernorm";
  layer.after_mlp.name = "post_feedforward_layernorm";
  set_norms(s, norm);
  layer.attention.qk_norm = QkNorm::all_heads;
  layer.attention.q_k_norm = norm;
  return s;
}

}  // namespace

std::unique_ptr<Model> build_olmo(Fields& f) {
  TransformerSpec s = read_olmo(f, "olmo");
  set_norms(s, {NormKind::layer_in_float32, false, false});
  s.kinds.front().attention.clips_qkv = f.optional_number("clip_qkv", std::nullopt).has_value();
  return make_transformer(std::move(s));
}

std::unique_ptr<Model> build_olmo2(Fields& f) { return make_transformer(read_olmo2(f, "olmo2")); }

std::unique_ptr<Model> build_olmo3(Fields& f) {
  TransformerSpec s = read_olmo2(f, "olmo3");
  s.kinds.front().attention.window = f.optional_count("sliding_window", 4096);
  read_layer_types(f, s, 4);
  s.kinds[1].attention.rotary_table = 1;
  s.rotary_sizes.push_back(s.rotary_sizes.front());
  return make_transformer(std::move(s));
}

}  // namespace llmcalc
