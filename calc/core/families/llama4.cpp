// Llama 4's language model: chunks of attention with complex rotation, every fourth layer global without positions,
// experts that all compute all tokens (as the library does it) and a shared one.
#include "core/families/common.hpp"
#include "core/families/families.hpp"
#include "core/transformer/experts.hpp"

#include <algorithm>

namespace llmcalc {

std::unique_ptr<Model> build_llama4(Fields& f) {
  TransformerSpec s =
      read_llama_like(f, "llama4_text", {.inner = 8192, .max_seq = 131072, .kv_heads = 8, .head_size = 128});
  const std::size_t layers = s.pattern.size();
  LayerSpec global = s.kinds.front();
  AttentionSpec& a = global.attention;
  a.qkv_bias = a.out_bias = f.flag("attention_bias", false);
  a.scores.softmax = SoftmaxForm::plain;
  const Count expert_inner = global.mlp.inner;
  ExpertsSpec e;
  e.name = "feed_forward";
  e.router_name = "router";
  e.router = RouterKind::sigmoid_input;
  e.storage = ExpertsStorage::in_by_out;
  e.experts = f.count({"num_local_experts", "num_experts"}, 16);
  e.per_token = std::min(f.count("num_experts_per_tok", 1), e.experts);
  e.inner = expert_inner;
  e.activation = global.mlp.activation;
  e.shared = global.mlp;
  e.shared.name = "shared_expert";
  global.mlp.name = "feed_forward";
  global.mlp.inner = f.count("intermediate_size_mlp", 16384);
  const std::optional<Count> chunk = f.optional_count("attention_chunk_size", 8192);
  const bool norms = f.flag("use_qk_norm", true), tunes = f.flag("attn_temperature_tuning", true);
  const Count no_rope_period = f.count("no_rope_layer_interval", 4),
              moe_period = f.count("interleave_moe_layer_step", 1);
  std::vector<Count> with_positions = f.counts("no_rope_layers");  // 1: has them, whatever the name says
  if (with_positions.size() != layers) with_positions.clear();
  const bool lists_experts = f.has("moe_layers") && !f.is_null("moe_layers");
  const std::vector<Count> moe_layers = f.counts("moe_layers");
  f.ignore({"layer_types", "floor_scale", "attn_scale", "output_router_logits", "router_aux_loss_coef",
            "router_jitter_noise"});

  LayerSpec local = global;
  local.attention.chunk = chunk;
  local.attention.rotary.style = RotaryStyle::complex_numbers;
  if (norms) local.attention.qk_norm = QkNorm::after_rotary;
  a.rotary.style = RotaryStyle::none;
  a.tunes_temperature = tunes;
  s.kinds = {local, global};
  for (const LayerSpec& dense : {local, global}) {  // the same two with experts
    LayerSpec moe = dense;
    moe.name = "moe";
    moe.mlp.inner = 0;
    moe.experts = std::make_shared<const ExpertsSpec>(e);
    s.kinds.push_back(moe);
  }
  for (std::size_t n = 0; n < layers; ++n) {
    const Count index = static_cast<Count>(n);
    const bool positions = with_positions.empty() ? (index + 1) % no_rope_period != 0 : with_positions[n] != 0;
    const bool experts = lists_experts ? std::find(moe_layers.begin(), moe_layers.end(), index) != moe_layers.end()
                                       : (index + 1) % moe_period == 0;
    s.pattern[n] = (positions ? 0 : 1) + (experts ? 2 : 0);
  }
  return make_transformer(std::move(s));
}

}  // namespace llmcalc
