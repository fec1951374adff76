// DeepSeek V2 and V3: latent attention, first layers dense, then routed and shared experts; GLM-4.5 has V3's experts
// with ordinary attention.
#include <algorithm>

#include "core/families/common.hpp"
#include "core/families/families.hpp"
#include "core/suggest.hpp"
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
  const bool one_group = f.is_null("n_group");
  e.groups = f.optional_count("n_group", assumed.groups).value_or(1);
  e.top_groups = f.optional_count("topk_group", assumed.top_groups).value_or(1);
  if (one_group) e.top_groups = 1;
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
  std::vector<std::string> types;  // the libraries' V2, V3 and GLM-4.5 do not look at them
  if (s.kinds.front().attention.indexer)
    types = read_kinds(f, "mlp_layer_types", s.pattern.size(), {"dense", "sparse"});
  dense.name = "dense";
  LayerSpec moe = dense;
  moe.name = "moe";
  moe.mlp.inner = 0;
  moe.experts = std::make_shared<const ExpertsSpec>(e);
  // Of no shared experts the library keeps the last projection's bias.
  if (e.shared.inner == 0 && e.shared.down_bias && !none_shared)
    moe.extra.push_back({e.name + ".shared_experts.down_proj.bias", {s.hidden}});
  s.kinds.push_back(moe);
  for (std::size_t n = 0; n < s.pattern.size(); ++n)
    s.pattern[n] = types.empty() ? static_cast<Count>(n) >= first_dense : types[n] == "sparse";
  read_prediction(f, s, {"num_nextn_predict_layers", "num_mtp_layers"}, assumed.prediction, s.kinds.back());
  f.ignore({"routed_scaling_factor", "moe_layer_freq", "output_router_logits", "scoring_func", "ep_size", "seq_aux",
            "aux_loss_alpha", "router_aux_loss_coef"});
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
  TransformerSpec s = read_llama_like(f, "deepseek_v3", {.inner = 18432, .max_seq = 4096, .kv_heads = 128});
  read_latent(f, s, 1536, 128, 128);
  read_deepseek_experts(f, s, RouterKind::sigmoid_groups, {256, 8, 2048, 1, 3, 8, 4, true, 1});
  return make_transformer(std::move(s));
}

namespace {

// DeepSeek V3.2's and GLM-5's choice of the keys a query sees.
IndexerSpec read_indexer(Fields& f, Count heads, RotaryStyle rotary) {
  IndexerSpec indexer;
  indexer.heads = f.count("index_n_heads", heads);
  indexer.size = f.count("index_head_dim", 128);
  indexer.chosen = f.count("index_topk", 2048);
  indexer.rotary = rotary;
  f.ignore({"indexer_rope_interleave", "layer_types"});
  return indexer;
}

// GLM-5's layers that take the choice of an earlier one: by name, by a pattern of F and S, or at a regular distance.
std::vector<bool> read_sharing(Fields& f, std::size_t layers) {
  std::vector<std::string> types = f.texts("indexer_types");
  const Value* pattern = f.raw("index_topk_pattern");
  if (types.empty() && pattern && pattern->kind == Value::Kind::text)
    for (const char letter : pattern->text)
      types.push_back(letter == 'S' ? "shared" : letter == 'F' ? "full" : std::string(1, letter));
  else if (types.empty() && pattern)
    types = f.texts("index_topk_pattern");
  const Count period = std::max<Count>(f.has("index_topk_freq") ? f.count_or_zero("index_topk_freq", 1) : 1, 1);
  const Count offset = f.has("index_skip_topk_offset") ? f.count_or_zero("index_skip_topk_offset", 2) : 2;
  if (!types.empty() && types.size() < layers) f.error("indexer_types", "must name as many layers as the model has");
  for (const std::string& type : types)
    if (type != "full" && type != "shared")
      f.error("indexer_types", "a layer is full or shared, not " + in_quotes(type));
  std::vector<bool> shared(layers);
  for (std::size_t n = 0; n < layers; ++n) {
    const Count since = std::max<Count>(static_cast<Count>(n) - offset + 1, 0);
    shared[n] = n < types.size() ? types[n] == "shared" : types.empty() && since % period != 0;
  }
  return shared;
}

// A second set of kinds, for the layers whose indexer is another's.
void share_indexers(TransformerSpec& s, const std::vector<bool>& shared) {
  if (std::find(shared.begin(), shared.end(), true) == shared.end()) return;
  const std::size_t kinds = s.kinds.size();
  for (std::size_t i = 0; i < kinds; ++i) {
    s.kinds.push_back(s.kinds[i]);
    s.kinds.back().attention.indexer->shared = true;
  }
  for (std::size_t n = 0; n < s.pattern.size(); ++n)
    if (shared[n]) s.pattern[n] += static_cast<int>(kinds);
}

std::unique_ptr<Model> with_indexer(Fields& f, TransformerSpec s, const IndexerSpec& indexer,
                                    const DeepseekDefaults& experts, const std::vector<bool>& shared) {
  AttentionSpec& a = s.kinds.front().attention;
  a.always_masked = true;
  a.indexer = indexer;
  f.ignore("mlp_bias");  // the library's MLP has none whatever it says
  read_deepseek_experts(f, s, RouterKind::sigmoid_groups, experts);
  share_indexers(s, shared);
  return make_transformer(std::move(s));
}

}  // namespace

std::unique_ptr<Model> build_deepseek_v32(Fields& f) {
  TransformerSpec s = read_llama_like(f, "deepseek_v32", {.inner = 18432, .max_seq = 163840, .kv_heads = 128});
  read_latent(f, s, 1536, 128, 128);
  const std::vector<bool> shared(s.pattern.size());
  return with_indexer(f, std::move(s), read_indexer(f, 64, RotaryStyle::halves), {256, 8, 2048, 1, 3, 8, 4, true},
                      shared);
}

std::unique_ptr<Model> build_glm_moe_dsa(Fields& f) {
  TransformerSpec s = read_llama_like(f, "glm_moe_dsa", {.inner = 12288, .max_seq = 202752, .kv_heads = 64});
  read_latent(f, s, 2048, 256, 192);
  const std::vector<bool> shared = read_sharing(f, s.pattern.size());
  return with_indexer(f, std::move(s), read_indexer(f, 32, RotaryStyle::regrouped), {256, 8, 2048, 1, 3, 1, 1, true},
                      shared);
}

std::unique_ptr<Model> build_glm4_moe(Fields& f) {
  TransformerSpec s = read_llama_like(f, "glm4_moe", {.inner = 10944, .max_seq = 131072, .kv_heads = 8});
  AttentionSpec& a = s.kinds.front().attention;
  a.qkv_bias = f.flag("attention_bias", false);
  if (f.flag("use_qk_norm", false)) a.qk_norm = QkNorm::per_head;
  set_partial_rotary(s, rotary_size(f, a.qk_size, 0.5));
  read_deepseek_experts(f, s, RouterKind::sigmoid_groups, {128, 8, 1408, 1, 1, 1, 1, true, 1});
  return make_transformer(std::move(s));
}

}  // namespace llmcalc
