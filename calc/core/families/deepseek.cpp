// DeepSeek V2 and V3: latent attention, first layers dense, then routed and shared experts; GLM-4.5 has V3's experts
// with ordinary attention.
#include <algorithm>

#include "core/families/common.hpp"
#include "core/families/families.hpp"
#include "core/transformer/experts.hpp"

namespace llmcalc {
namespace {

struct DeepseekDefaults {
  Count experts, per_token, expert_inner, shared, first_dense, groups, top_groups;
  bool normalises;
  Count prediction = 0;
};

// n_routed_experts and kin; the first first_k_dense_replace layers keep their MLP.
void read_deepseek_experts(Fields& f, TransformerSpec& s, RouterKind router, const DeepseekDefaults& assumed) {
  ExpertsSpec e;
  e.router = router;
  e.router_float32 = true;
  e.experts = f.count({"n_routed_experts", "num_local_experts", "num_experts"}, assumed.experts);
  e.per_token = f.optional_count("num_experts_per_tok", assumed.per_token).value_or(assumed.per_token);
  e.inner = f.count("moe_intermediate_size", assumed.expert_inner);
  e.groups = f.optional_count("n_group", assumed.groups).value_or(1);
  e.top_groups = f.optional_count("topk_group", assumed.top_groups).value_or(1);
  e.normalises = f.flag("norm_topk_prob", assumed.normalises);
  if (e.per_token > e.experts) {
    f.error("num_experts_per_tok", "a token cannot visit more experts than there are");
    e.per_token = e.experts;
  }
  if (e.experts % e.groups != 0 || e.top_groups > e.groups) {
    f.error("n_group", "groups must divide the experts, and topk_group be at most n_group");
    e.groups = e.top_groups = 1;
  }
  if (router == RouterKind::softmax_groups) {
    e.greedy = f.text("topk_method", "greedy") == "greedy";
    e.normalises = false;
  } else {
    e.correction_buffer = true;
    f.ignore("topk_method");
  }
  LayerSpec& dense = s.kinds.front();
  e.activation = dense.mlp.activation;
  e.shared = dense.mlp;
  e.shared.name = "shared_experts";
  const bool none_shared = f.is_null("n_shared_experts");
  e.shared.inner = none_shared ? 0 : e.inner * f.count_or_zero("n_shared_experts", assumed.shared);
  Count first_dense = f.count_or_zero("first_k_dense_replace", assumed.first_dense);
  std::vector<std::string> types = f.texts("mlp_layer_types");
  if (!types.empty() && types.size() != s.pattern.size()) {
    f.error("mlp_layer_types", "must name as many layers as the model has");
    types.clear();
  }
  dense.name = "dense";
  LayerSpec moe = dense;
  moe.name = "moe";
  moe.mlp.inner = 0;
  moe.experts = std::make_shared<const ExpertsSpec>(e);
  s.kinds.push_back(moe);
  for (std::size_t n = 0; n < s.pattern.size(); ++n)
    s.pattern[n] = types.empty() ? static_cast<Count>(n) >= first_dense : types[n] == "sparse";
  read_prediction(f, s, {"num_nextn_predict_layers", "num_mtp_layers"}, assumed.prediction, s.kinds.back());
  f.ignore({"routed_scaling_factor", "moe_layer_freq", "output_router_logits",
            "scoring_func", "ep_size", "seq_aux", "aux_loss_alpha", "router_aux_loss_coef"});
}

// The ranks and sizes of latent attention instead of head_dim.
void read_latent(Fields& f, TransformerSpec& s, Count q_rank, Count v_size, Count plain_size) {
  AttentionSpec& a = s.kinds.front().attention;
  LatentSpec l;
  l.q_rank = f.optional_count("q_lora_rank", q_rank);
  l.kv_rank = f.count("kv_lora_rank", 512);
  l.plain_size = f.count("qk_nope_head_dim", plain_size);
  l.rotary_size = f.count("qk_rope_head_dim", 64);
  l.down_bias = a.out_bias = f.flag("attention_bias", false);
  a.kv_heads = a.heads;
  a.qk_size = l.plain_size + l.rotary_size;
  a.v_size = f.count("v_head_dim", v_size);
  a.rotary.size = l.rotary_size;
  a.rotary.style = f.flag("rope_interleave", true) ? RotaryStyle::regrouped : RotaryStyle::halves;
  check_rotary(f, "qk_rope_head_dim", l.rotary_size, l.rotary_size);
  a.latent = l;
  s.rotary_sizes = {l.rotary_size};
  f.ignore("qk_head_dim");
}

}  // namespace

std::unique_ptr<Model> build_deepseek_v2(Fields& f) {
  TransformerSpec s = read_llama_like(f, "deepseek_v2", {});
  read_latent(f, s, 1536, 128, 128);
  s.kinds.front().attention.rotary.style = RotaryStyle::complex_numbers;
  s.kinds.front().mlp.up_bias = s.kinds.front().mlp.down_bias = f.flag("mlp_bias", false);
  read_deepseek_experts(f, s, RouterKind::softmax_groups, {64, 1, 1407, 2, 0, 1, 1, false});
  return make_transformer(std::move(s));
}

std::unique_ptr<Model> build_deepseek_v3(Fields& f) {
  LlamaDefaults assumed;
  assumed.inner = 18432;
  assumed.max_seq = 4096;
  assumed.kv_heads = 128;
  TransformerSpec s = read_llama_like(f, "deepseek_v3", assumed);
  read_latent(f, s, 1536, 128, 128);
  read_deepseek_experts(f, s, RouterKind::sigmoid_groups, {256, 8, 2048, 1, 3, 8, 4, true, 1});
  return make_transformer(std::move(s));
}

namespace {

// DeepSeek V3.2's and GLM-5's choice of the keys a query sees: parameters counted, its small products not traced.
void add_indexer(Fields& f, TransformerSpec& s, Count heads) {
  const Count n = f.count("index_n_heads", heads), size = f.count("index_head_dim", 128);
  f.ignore({"index_topk", "indexer_rope_interleave", "layer_types", "indexer_types"});
  const AttentionSpec& a = s.kinds.front().attention;
  const Count rank = a.latent->q_rank.value_or(s.hidden);
  s.kinds.front().extra = {{"self_attn.indexer.wq_b.weight", {n * size, rank}},
                           {"self_attn.indexer.wk.weight", {size, s.hidden}},
                           {"self_attn.indexer.k_norm.weight", {size}},
                           {"self_attn.indexer.k_norm.bias", {size}},
                           {"self_attn.indexer.weights_proj.weight", {n, s.hidden}}};
}

std::unique_ptr<Model> build_indexed(Fields& f, std::string architecture, const LlamaDefaults& assumed, Count q_rank,
                                     Count v_size, Count plain_size, Count index_heads,
                                     const DeepseekDefaults& experts) {
  TransformerSpec s = read_llama_like(f, std::move(architecture), assumed);
  read_latent(f, s, q_rank, v_size, plain_size);
  s.kinds.front().attention.always_masked = true;
  f.ignore("mlp_bias");  // the library's MLP has none whatever it says
  add_indexer(f, s, index_heads);
  read_deepseek_experts(f, s, RouterKind::sigmoid_groups, experts);
  return make_transformer(std::move(s));
}

}  // namespace

std::unique_ptr<Model> build_deepseek_v32(Fields& f) {
  LlamaDefaults assumed;
  assumed.inner = 18432;
  assumed.max_seq = 163840;
  assumed.kv_heads = 128;
  return build_indexed(f, "deepseek_v32", assumed, 1536, 128, 128, 64, {256, 8, 2048, 1, 3, 8, 4, true});
}

std::unique_ptr<Model> build_glm_moe_dsa(Fields& f) {
  LlamaDefaults assumed;
  assumed.inner = 12288;
  assumed.max_seq = 202752;
  assumed.kv_heads = 64;
  return build_indexed(f, "glm_moe_dsa", assumed, 2048, 256, 192, 32, {256, 8, 2048, 1, 3, 1, 1, true});
}

std::unique_ptr<Model> build_glm4_moe(Fields& f) {
  LlamaDefaults assumed;
  assumed.inner = 10944;
  assumed.max_seq = 131072;
  assumed.kv_heads = 8;
  TransformerSpec s = read_llama_like(f, "glm4_moe", assumed);
  AttentionSpec& a = s.kinds.front().attention;
  a.qkv_bias = f.flag("attention_bias", false);
  if (f.flag("use_qk_norm", false)) a.qk_norm = QkNorm::per_head;
  set_partial_rotary(s, rotary_size(f, a.qk_size, 0.5));
  read_deepseek_experts(f, s, RouterKind::sigmoid_groups, {128, 8, 1408, 1, 1, 1, 1, true, 1});
  return make_transformer(std::move(s));
}

}  // namespace llmcalc
