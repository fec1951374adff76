// Cohere (Command R, Aya): LayerNorm by hand, attention and MLP in parallel behind one norm, rotation of neighbours.
#include "core/families/common.hpp"
#include "core/families/families.hpp"

namespace llmcalc {
namespace {

const NormSpec cohere_norm{NormKind::layer_by_hand, true, false};

TransformerSpec read_cohere(Fields& f, std::string architecture) {
  TransformerSpec s = read_llama_like(f, std::move(architecture), {.inner = 22528, .max_seq = 8192, .tied = true});
  LayerSpec& layer = s.kinds.front();
  layer.form = BlockForm::parallel;
  layer.before_mlp = {};
  set_norms(s, cohere_norm);
  layer.attention.qkv_bias = layer.attention.out_bias = f.flag("attention_bias", false);
  layer.attention.rotary.style = RotaryStyle::pairs_cast;
  s.logit_scale = f.number("logit_scale", 0.0625);
  f.ignore("layer_norm_eps");
  return s;
}

}  // namespace

std::unique_ptr<Model> build_cohere(Fields& f) {
  TransformerSpec s = read_cohere(f, "cohere");
  if (f.flag("use_qk_norm", false)) {
    s.kinds.front().attention.qk_norm = QkNorm::heads_by_size;
    s.kinds.front().attention.q_k_norm = cohere_norm;
  }
  return make_transformer(std::move(s));
}

std::unique_ptr<Model> build_cohere2(Fields& f) {
  TransformerSpec s = read_cohere(f, "cohere2");
  s.kinds.front().attention.window = f.optional_count("sliding_window", 4096);
  read_layer_types(f, s, f.count("sliding_window_pattern", 4));
  for (LayerSpec& kind : s.kinds)  // only local layers have positions
    if (!kind.attention.window) kind.attention.rotary.style = RotaryStyle::none;
  return make_transformer(std::move(s));
}

}  // namespace llmcalc
