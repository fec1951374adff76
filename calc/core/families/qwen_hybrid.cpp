// Qwen3-Next and Qwen3.5: gated delta rule in three layers of four, attention with a gated output in the fourth.
#include <algorithm>

#include "core/families/common.hpp"
#include "core/families/families.hpp"
#include "core/mixers/mixers.hpp"
#include "core/transformer/experts.hpp"

namespace llmcalc {
namespace {

struct Defaults {
  Count inner, kv_heads;
  bool fused_projections;
  Count experts = 0, per_token = 0;
};

// layer_types, or every full_attention_interval-th layer: true where there is attention.
std::vector<bool> read_attention_layers(Fields& f, std::size_t layers) {
  const Count interval = f.count("full_attention_interval", 4);
  const std::vector<std::string> types = read_kinds(f, "layer_types", layers, {"linear_attention", "full_attention"});
  std::vector<bool> attention(layers);
  for (std::size_t n = 0; n < layers; ++n)
    attention[n] = types.empty() ? (static_cast<Count>(n) + 1) % interval == 0 : types[n] == "full_attention";
  return attention;
}

ExpertsSpec read_experts(Fields& f, const Defaults& assumed, const MlpSpec& mlp) {
  ExpertsSpec e;
  e.experts = f.count_or_zero({"num_experts", "num_local_experts"}, assumed.experts);
  e.per_token = f.count("num_experts_per_tok", assumed.per_token);
  if (e.experts > 0 && e.per_token > e.experts) f.error("num_experts_per_tok", "more than there are experts");
  e.inner = f.count("moe_intermediate_size", 512);
  e.activation = mlp.activation;
  e.normalises = f.flag("norm_topk_prob", true);
  e.weights_in_router_dtype = true;
  e.shared = mlp;
  e.shared.name = "shared_expert";
  e.shared.inner = f.count("shared_expert_intermediate_size", 512);
  e.shared_first = true;
  e.shared_gate_name = "shared_expert_gate";
  f.ignore({"output_router_logits", "router_aux_loss_coef"});
  return e;
}

GatedDeltaSpec read_mixer(Fields& f, Count hidden, bool fused_projections) {
  GatedDeltaSpec m;
  m.hidden = hidden;
  m.key_heads = f.count("linear_num_key_heads", 16);
  m.key_size = f.count("linear_key_head_dim", 128);
  m.value_heads = f.count("linear_num_value_heads", 32);
  m.value_size = f.count("linear_value_head_dim", 128);
  m.width = f.count("linear_conv_kernel_dim", 4);
  m.fused_projections = fused_projections;
  if (m.value_heads % m.key_heads != 0) {
    f.error("linear_num_value_heads", "linear_num_key_heads does not divide it");
    m.value_heads = m.key_heads;
  }
  return m;
}

// Layers with experts: all but mlp_only_layers, every decoder_sparse_step-th.
std::vector<bool> read_expert_layers(Fields& f, std::size_t layers, bool all) {
  std::vector<bool> experts(layers, true);
  if (all) return experts;
  const Count period = f.count("decoder_sparse_step", 1);
  const std::vector<Count> dense = f.counts("mlp_only_layers");
  for (std::size_t n = 0; n < layers; ++n)
    experts[n] = (static_cast<Count>(n) + 1) % period == 0 &&
                 std::find(dense.begin(), dense.end(), static_cast<Count>(n)) == dense.end();
  return experts;
}

std::unique_ptr<Model> build_hybrid(Fields& f, const char* architecture, const Defaults& assumed) {
  TransformerSpec s = read_llama_like(
      f, architecture, {.inner = assumed.inner, .max_seq = 32768, .kv_heads = assumed.kv_heads, .head_size = 256});
  AttentionSpec& a = s.kinds.front().attention;
  a.qkv_bias = a.out_bias = f.flag("attention_bias", false);
  a.qk_norm = QkNorm::per_head;
  a.q_k_norm = {NormKind::rms_plus_one, true, false};
  a.gates_output = true;
  set_partial_rotary(s, rotary_size(f, a.qk_size, 0.25));
  set_norms(s, {NormKind::rms_plus_one, true, false});
  const LayerSpec layer = s.kinds.front();
  const GatedDeltaSpec mixer = read_mixer(f, s.hidden, assumed.fused_projections);
  const std::vector<bool> attention = read_attention_layers(f, s.pattern.size());
  const ExpertsSpec experts = assumed.experts > 0 ? read_experts(f, assumed, layer.mlp) : ExpertsSpec();
  const bool has_experts = experts.experts > 0;
  const bool all_layers_have_them = !assumed.fused_projections;  // Qwen3.5
  const std::vector<bool> expert_layers =
      has_experts ? read_expert_layers(f, s.pattern.size(), all_layers_have_them) : std::vector<bool>(s.pattern.size());
  f.ignore({"attn_output_gate", "mamba_ssm_dtype", "mlp_only_layers", "mtp_use_dedicated_embeddings"});

  // Kinds: linear and attention, each dense and with experts.
  s.kinds.clear();
  for (const bool moe : {false, true}) {
    for (const bool full : {false, true}) {
      LayerSpec kind = layer;
      kind.name = std::string(full ? "attention" : "linear_attention") + (moe ? "_moe" : "");
      kind.has_attention = full;
      if (!full) kind.mixer = make_gated_delta(mixer);
      if (moe) {
        kind.mlp.inner = 0;
        kind.experts = std::make_shared<const ExpertsSpec>(experts);
      }
      s.kinds.push_back(std::move(kind));
    }
  }
  for (std::size_t n = 0; n < s.pattern.size(); ++n) s.pattern[n] = (expert_layers[n] ? 2 : 0) + (attention[n] ? 1 : 0);
  // One projection for all depths, layers of attention with experts where the model has them.
  read_prediction(f, s, {"mtp_num_hidden_layers", "num_nextn_predict_layers"}, 0, s.kinds[has_experts ? 3 : 1]);
  PredictionSpec& p = s.prediction;
  p.prefix = "mtp.layers.";
  p.shared_prefix = "mtp.";
  p.projection_name = "fc";
  p.of_embedding.name = "pre_fc_norm_embedding";
  p.of_hidden.name = "pre_fc_norm_hidden";
  p.last.name = "norm";
  return make_transformer(std::move(s));
}

}  // namespace

std::unique_ptr<Model> build_qwen3_next(Fields& f) { return build_hybrid(f, "qwen3_next", {5632, 2, true, 512, 10}); }
std::unique_ptr<Model> build_qwen3_5(Fields& f) { return build_hybrid(f, "qwen3_5_text", {12288, 4, false}); }
std::unique_ptr<Model> build_qwen3_5_moe(Fields& f) {
  return build_hybrid(f, "qwen3_5_moe_text", {0, 2, false, 256, 8});
}

}  // namespace llmcalc
