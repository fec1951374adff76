// Mixtures of experts of the llama form: Mixtral, Qwen 2 and 3 MoE, OLMoE, MiniMax-M2, gpt-oss, Granite MoE, Phi-3.5
// MoE, Ernie 4.5 MoE.
#include <algorithm>

#include "core/families/common.hpp"
#include "core/families/families.hpp"
#include "core/transformer/experts.hpp"

namespace llmcalc {
namespace {

// The experts take the MLP's place in every layer.
void set_experts(TransformerSpec& s, const ExpertsSpec& e) {
  for (LayerSpec& kind : s.kinds) {
    kind.name = "moe";
    kind.experts = std::make_shared<const ExpertsSpec>(e);
    kind.mlp.inner = 0;
  }
}

// num_local_experts (or its other names), num_experts_per_tok, and the inner size under `inner_key`.
ExpertsSpec read_experts(Fields& f, const KeyNames& experts_key, Count experts, const KeyNames& top_key,
                         Count per_token, Count inner, Activation activation) {
  ExpertsSpec e;
  e.experts = f.count(experts_key, experts);
  e.per_token = f.count(top_key, per_token);
  e.inner = inner;
  e.activation = activation;
  if (e.per_token > e.experts) {
    f.error(top_key,
            "a token cannot visit " + std::to_string(e.per_token) + " of " + std::to_string(e.experts) + " experts");
    e.per_token = e.experts;
  }
  f.ignore({"output_router_logits", "router_aux_loss_coef", "router_jitter_noise", "input_jitter_noise"});
  return e;
}

// Layers with experts: those the list does not except, every `period`-th of them.
void place_experts(TransformerSpec& s, const ExpertsSpec& e, const std::vector<bool>& has_experts) {
  const std::size_t dense_kinds = s.kinds.size();
  for (std::size_t i = 0; i < dense_kinds; ++i) {
    LayerSpec moe = s.kinds[i];
    moe.name = "moe";
    moe.experts = std::make_shared<const ExpertsSpec>(e);
    moe.mlp.inner = 0;
    s.kinds.push_back(std::move(moe));
  }
  for (std::size_t n = 0; n < s.pattern.size(); ++n)
    if (has_experts[n]) s.pattern[n] += static_cast<int>(dense_kinds);
  for (std::size_t i = 0; i < dense_kinds; ++i) s.kinds[i].name = "dense";
}

void place_qwen_experts(Fields& f, TransformerSpec& s, const ExpertsSpec& e) {
  const Count period = f.count("decoder_sparse_step", 1);
  const std::vector<Count> dense = f.counts("mlp_only_layers");
  std::vector<bool> has_experts(s.pattern.size());
  for (std::size_t n = 0; n < has_experts.size(); ++n)
    has_experts[n] = std::find(dense.begin(), dense.end(), static_cast<Count>(n)) == dense.end() &&
                     (static_cast<Count>(n) + 1) % period == 0;
  place_experts(s, e, has_experts);
}

}  // namespace

std::unique_ptr<Model> build_mixtral(Fields& f) {
  TransformerSpec s = read_llama_like(f, "mixtral", {.inner = 14336, .max_seq = 131072, .kv_heads = 8});
  const MlpSpec mlp = s.kinds.front().mlp;
  s.kinds.front().attention.window = f.optional_count("sliding_window", std::nullopt);
  ExpertsSpec e =
      read_experts(f, {"num_local_experts", "num_experts"}, 8, "num_experts_per_tok", 2, mlp.inner, mlp.activation);
  e.normalises = true;
  set_experts(s, e);
  return make_transformer(std::move(s));
}

std::unique_ptr<Model> build_olmoe(Fields& f) {
  TransformerSpec s = read_llama_like(f, "olmoe", {.inner = 2048, .max_seq = 4096, .sizing = HeadSize::divides});
  AttentionSpec& a = s.kinds.front().attention;
  const MlpSpec mlp = s.kinds.front().mlp;
  a.qkv_bias = a.out_bias = f.flag("attention_bias", false);
  a.clips_qkv = f.optional_number("clip_qkv", std::nullopt).has_value();
  a.qk_norm = QkNorm::all_heads;
  ExpertsSpec e =
      read_experts(f, {"num_experts", "num_local_experts"}, 64, "num_experts_per_tok", 8, mlp.inner, mlp.activation);
  e.normalises = f.flag("norm_topk_prob", false);
  e.weights_in_router_dtype = true;
  set_experts(s, e);
  return make_transformer(std::move(s));
}

std::unique_ptr<Model> build_qwen2_moe(Fields& f) {
  TransformerSpec s = read_llama_like(f, "qwen2_moe", {.inner = 5632, .max_seq = 32768, .kv_heads = 16});
  s.kinds.front().attention.qkv_bias = f.flag("qkv_bias", true);
  read_qwen_windows(f, s);
  ExpertsSpec e = read_experts(f, {"num_experts", "num_local_experts"}, 60, "num_experts_per_tok", 4,
                               f.count("moe_intermediate_size", 1408), s.kinds.front().mlp.activation);
  e.normalises = f.flag("norm_topk_prob", false);
  e.weights_in_router_dtype = true;
  e.shared = s.kinds.front().mlp;
  e.shared.name = "shared_expert";
  e.shared.inner = f.count("shared_expert_intermediate_size", 5632);
  e.shared_first = true;
  e.shared_gate_name = "shared_expert_gate";
  place_qwen_experts(f, s, e);
  return make_transformer(std::move(s));
}

std::unique_ptr<Model> build_qwen3_moe(Fields& f) {
  TransformerSpec s = read_llama_like(f, "qwen3_moe", {.inner = 6144, .max_seq = 32768, .kv_heads = 4});
  AttentionSpec& a = s.kinds.front().attention;
  a.qkv_bias = a.out_bias = f.flag("attention_bias", false);
  a.qk_norm = QkNorm::per_head;
  const std::optional<Count> window = f.optional_count("sliding_window", 4096);
  if (f.flag("use_sliding_window", false)) a.window = window;
  f.ignore("max_window_layers");
  ExpertsSpec e = read_experts(f, {"num_experts", "num_local_experts"}, 128, "num_experts_per_tok", 8,
                               f.count("moe_intermediate_size", 768), s.kinds.front().mlp.activation);
  e.normalises = f.flag("norm_topk_prob", false);
  e.weights_in_router_dtype = true;
  place_qwen_experts(f, s, e);
  return make_transformer(std::move(s));
}

std::unique_ptr<Model> build_minimax_m2(Fields& f) {
  TransformerSpec s =
      read_llama_like(f, "minimax_m2", {.inner = 1536, .max_seq = 196608, .kv_heads = 8, .head_size = 128});
  AttentionSpec& a = s.kinds.front().attention;
  const MlpSpec mlp = s.kinds.front().mlp;
  a.qk_norm = QkNorm::all_heads;
  const std::optional<Count> turning = f.optional_count("rotary_dim", std::nullopt);
  set_partial_rotary(s, turning ? std::min(*turning, a.qk_size) : rotary_size(f, a.qk_size, 1.0));
  ExpertsSpec e =
      read_experts(f, {"num_local_experts", "num_experts"}, 256, "num_experts_per_tok", 8, mlp.inner, mlp.activation);
  e.router = RouterKind::sigmoid_top;
  e.correction_buffer = true;
  e.correction_name = "e_score_correction_bias";
  f.ignore({"scoring_func", "use_routing_bias", "use_qk_norm", "qk_norm_type", "attn_type_list",
            "shared_intermediate_size", "use_mtp", "mtp_transformer_layers"});
  set_experts(s, e);
  read_prediction(f, s, "num_mtp_modules", 0, s.kinds.front());
  return make_transformer(std::move(s));
}

std::unique_ptr<Model> build_gpt_oss(Fields& f) {
  TransformerSpec s = read_llama_like(f, "gpt_oss", {.inner = 2880, .max_seq = 131072, .kv_heads = 8, .head_size = 64});
  AttentionSpec& a = s.kinds.front().attention;
  const MlpSpec mlp = s.kinds.front().mlp;
  a.qkv_bias = a.out_bias = f.flag("attention_bias", true);
  a.rotary.style = RotaryStyle::halves_split;
  a.scores.sinks = true;
  a.why_not_fused = "its scores have learned sinks";
  a.window = f.optional_count("sliding_window", 128);
  set_norms(s, {NormKind::rms_weighted_inside, true, false});
  ExpertsSpec e = read_experts(f, {"num_local_experts", "num_experts"}, 128,
                               {"num_experts_per_tok", "experts_per_token"}, 4, mlp.inner, mlp.activation);
  e.router_name = "router";
  e.router = RouterKind::top_softmax;
  e.router_bias = e.biases = e.clamps = true;
  e.storage = ExpertsStorage::in_by_out;
  f.ignore({"swiglu_limit", "swiglu_alpha", "initial_context_length"});
  set_experts(s, e);
  read_layer_types(f, s, 2);
  return make_transformer(std::move(s));
}

std::unique_ptr<Model> build_granitemoe(Fields& f) {
  TransformerSpec s = read_llama_like(f, "granitemoe", {});
  LayerSpec& layer = s.kinds.front();
  const MlpSpec mlp = layer.mlp;
  layer.attention.qkv_bias = layer.attention.out_bias = f.flag("attention_bias", false);
  s.embedding_multiplier = f.number("embedding_multiplier", 1);
  s.logit_scale = f.number("logits_scaling", 1);
  layer.residual_multiplier = f.number("residual_multiplier", 1);
  ExpertsSpec e =
      read_experts(f, {"num_local_experts", "num_experts"}, 8, "num_experts_per_tok", 2, mlp.inner, mlp.activation);
  e.name = "block_sparse_moe";
  e.router_name = "router";
  e.router = RouterKind::top_softmax_float32;
  f.ignore("attention_multiplier");
  set_experts(s, e);
  return make_transformer(std::move(s));
}

std::unique_ptr<Model> build_phimoe(Fields& f) {
  TransformerSpec s = read_llama_like(f, "phimoe", {.inner = 6400, .max_seq = 131072, .kv_heads = 8});
  set_norms(s, {NormKind::layer, true, true});
  LayerSpec& layer = s.kinds.front();
  const MlpSpec mlp = layer.mlp;
  layer.attention.qkv_bias = layer.attention.out_bias = f.flag("attention_bias", false);
  layer.attention.window = f.optional_count("sliding_window", std::nullopt);
  s.head_bias = f.flag("lm_head_bias", false);
  ExpertsSpec e =
      read_experts(f, {"num_local_experts", "num_experts"}, 16, "num_experts_per_tok", 2, mlp.inner, mlp.activation);
  e.router_name = "router";
  e.router = RouterKind::sampled;
  const Count stated = e.per_token;
  constexpr Count sampled = 2;
  if (stated != sampled)
    f.warning(
        "num_experts_per_tok",
        "the library's sampler chooses two experts whatever it says: FLOPs are of two, active parameters as stated");
  e.per_token = sampled;
  f.ignore("original_max_position_embeddings");
  set_experts(s, e);
  std::unique_ptr<Model> model = make_transformer(std::move(s));
  for (LayerKind& kind : model->parameters.kinds()) kind.experts_per_token = stated;
  return model;
}

std::unique_ptr<Model> build_ernie4_5_moe(Fields& f) {
  TransformerSpec s =
      read_llama_like(f, "ernie4_5_moe", {.inner = 12288, .max_seq = 131072, .kv_heads = 4, .tied = true});
  LayerSpec& layer = s.kinds.front();
  const bool biases = f.flag("use_bias", false);
  layer.attention.qkv_bias = layer.attention.out_bias = layer.mlp.up_bias = layer.mlp.down_bias = biases;
  s.head_bias = biases;
  layer.attention.rotary.style = RotaryStyle::pairs_float32;
  layer.attention.dropout = 0;
  const Count inner = f.count("moe_intermediate_size", 1536);
  ExpertsSpec e = read_experts(f, {"moe_num_experts", "num_experts"}, 64, {"moe_k", "num_experts_per_tok"}, 6, inner,
                               layer.mlp.activation);
  e.router = RouterKind::softmax_corrected;
  e.router_float32 = e.correction_parameter = true;
  e.correction_name = "gate.moe_statics.e_score_correction_bias";
  e.shared = layer.mlp;
  e.shared.name = "shared_experts";
  e.shared.inner = inner * f.count_or_zero("moe_num_shared_experts", 2);
  e.shared_first = true;
  const Count first = f.count_or_zero("moe_layer_start_index", 1), period = f.count("moe_layer_interval", 1);
  const double end = f.has("moe_layer_end_index") ? f.number("moe_layer_end_index", -1) : -1;  // -1: the last layer
  std::vector<bool> has_experts(s.pattern.size());
  for (std::size_t n = 0; n < has_experts.size(); ++n) {
    const Count index = static_cast<Count>(n);
    has_experts[n] = (index + 1) % period == 0 && index >= first && (end < 0 || static_cast<double>(index) <= end);
  }
  f.ignore({"moe_norm_min", "moe_capacity", "moe_gate"});
  // Behind the last layer stand dense ones; the model's last norm is theirs as well.
  read_prediction(f, s, "num_nextn_predict_layers", 0, layer);
  s.prediction.of_embedding.name = "mtp_emb_norm";
  s.prediction.of_hidden.name = "mtp_hidden_norm";
  s.prediction.projection_name = "mtp_linear_proj";
  s.prediction.projection_bias = biases;
  s.prediction.last.name.clear();
  place_experts(s, e, has_experts);
  return make_transformer(std::move(s));
}

}  // namespace llmcalc
