// Jamba: Mamba layers, an attention layer every few, experts in every second MLP; no positions.
#include "core/families/common.hpp"
#include "core/families/families.hpp"
#include "core/families/state_space.hpp"
#include "core/transformer/experts.hpp"

namespace llmcalc {
namespace {

// Where the layers of a period are.
struct Period {
  Count period = 1, offset = 0;

  bool has(Count layer) const { return layer % period == offset; }
};

Period read_period(Fields& f, const char* period_key, Count period, const char* offset_key, Count offset) {
  const Period p{f.count(period_key, period), f.count_or_zero(offset_key, offset)};
  if (p.offset >= p.period) f.error(offset_key, "must be smaller than " + std::string(period_key));
  return p;
}

MambaSpec read_mixer(Fields& f, Count hidden) {
  MambaSpec m;
  m.name = "mamba";
  m.hidden = hidden;
  m.inner = checked::multiply(f.count("mamba_expand", 2), hidden);
  m.state = f.count("mamba_d_state", 16);
  m.width = f.count("mamba_d_conv", 4);
  m.rank = read_rank(f, "mamba_dt_rank", hidden);
  m.bias = f.flag("mamba_proj_bias", false);
  m.conv_bias = f.flag("mamba_conv_bias", true);
  m.norm = NormSpec{NormKind::rms, true, false};
  f.ignore({"use_mamba_kernels", "use_mambapy", "use_associative_scan", "mamba_inner_layernorms"});
  return m;
}

}  // namespace

std::unique_ptr<Model> build_jamba(Fields& f) {
  TransformerSpec s = read_llama_like(f, "jamba", {.inner = 14336, .max_seq = 262144, .kv_heads = 8});
  s.rotary_sizes.clear();
  s.final_norm.name = "final_layernorm";
  LayerSpec layer = s.kinds.front();
  layer.before_mlp.name = "pre_ff_layernorm";
  layer.mlp.name = "feed_forward";
  layer.attention.rotary = {};
  ExpertsSpec e;
  e.name = layer.mlp.name;
  e.router_name = "router";
  e.experts = f.count({"num_experts", "num_local_experts"}, 16);
  e.per_token = f.count("num_experts_per_tok", 2);
  if (e.per_token > e.experts) f.error("num_experts_per_tok", "more than there are experts");
  e.inner = layer.mlp.inner;
  e.activation = layer.mlp.activation;
  const Period experts = read_period(f, "expert_layer_period", 2, "expert_layer_offset", 1);
  const Period attention = read_period(f, "attn_layer_period", 8, "attn_layer_offset", 4);
  const MambaSpec mixer = read_mixer(f, s.hidden);
  f.ignore({"output_router_logits", "router_aux_loss_coef", "num_logits_to_keep", "sliding_window"});

  // Kinds: Mamba and attention, each dense and with experts.
  s.kinds.clear();
  for (const bool has_experts : {false, true}) {
    for (const bool has_attention : {false, true}) {
      LayerSpec kind = layer;
      kind.name = std::string(has_attention ? "attention" : "mamba") + (has_experts ? "_moe" : "");
      kind.has_attention = has_attention;
      if (!has_attention) kind.mixer = make_mamba(mixer);
      if (has_experts) {
        kind.mlp.inner = 0;
        kind.experts = std::make_shared<const ExpertsSpec>(e);
      }
      s.kinds.push_back(std::move(kind));
    }
  }
  for (std::size_t n = 0; n < s.pattern.size(); ++n) {
    const Count index = static_cast<Count>(n);
    s.pattern[n] = (experts.has(index) && e.experts > 1 ? 2 : 0) + (attention.has(index) ? 1 : 0);
  }
  return make_transformer(std::move(s));
}

}  // namespace llmcalc
