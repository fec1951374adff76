// Nemotron-H: layers of one part each, by a pattern: Mamba-2 (M), attention without positions (*), MLP (-), experts
// (E).
#include <algorithm>
#include <array>
#include <map>

#include "core/families/common.hpp"
#include "core/families/families.hpp"
#include "core/families/state_space.hpp"

namespace llmcalc {
namespace {

enum LayerPart : int { mamba, attention, mlp, experts };

// A pattern of letters, or names of layers.
struct PartsKeys {
  const char* pattern;
  KeyNames names;
  std::vector<std::string> assumed;
};

std::vector<int> read_parts(Fields& f, const PartsKeys& keys) {
  static const std::map<std::string, int> parts{{"M", mamba},
                                                {"*", attention},
                                                {"-", mlp},
                                                {"E", experts},
                                                {"linear_attention", mamba},
                                                {"mamba", mamba},
                                                {"full_attention", attention},
                                                {"attention", attention},
                                                {"mlp", mlp},
                                                {"moe", experts}};
  std::vector<std::string> names = f.texts(keys.names);
  const std::string pattern = f.has(keys.pattern) ? f.text(keys.pattern, "") : "";
  const bool named = !names.empty();
  if (!named)
    for (const char part : pattern) names.emplace_back(1, part);
  if (names.empty()) names = keys.assumed;
  std::vector<int> found;
  for (const std::string& name : names) {
    const auto part = parts.find(name);
    if (part == parts.end())
      f.error(named ? keys.names : keys.pattern, "unknown kind of layer '" + name + "'");
    else
      found.push_back(part->second);
  }
  if (found.size() > static_cast<std::size_t>(Fields::most_layers)) f.error(keys.pattern, "too many layers");
  return found;
}

Mamba2Spec read_mamba(Fields& f, Count hidden) {
  Mamba2Spec m;
  m.hidden = hidden;
  m.heads = f.count("mamba_num_heads", 128);
  m.head_size = f.count("mamba_head_dim", 64);
  m.groups = f.count({"n_groups", "mamba_n_groups"}, 8);
  m.state = f.count("ssm_state_size", 128);
  m.width = f.count({"conv_kernel", "mamba_d_conv"}, 4);
  m.bias = f.flag("use_bias", false);
  m.conv_bias = f.flag({"use_conv_bias", "mamba_conv_bias"}, true);
  check_groups(f, m);
  return m;
}

PlainExpertsSpec read_experts(Fields& f, Count hidden, const MlpSpec& plain) {
  PlainExpertsSpec e;
  e.hidden = hidden;
  e.experts = f.count({"n_routed_experts", "num_local_experts"}, 8);
  e.per_token = f.count("num_experts_per_tok", 2);
  e.groups = f.count("n_group", 1);
  e.top_groups = f.count("topk_group", 1);
  e.inner = f.count("moe_intermediate_size", 7688);
  e.latent = f.optional_count("moe_latent_size", std::nullopt);
  e.normalises = f.flag("norm_topk_prob", true);
  e.bias = plain.up_bias;
  e.shared = plain;
  e.shared.name = "shared_experts";
  e.shared.inner = f.count("moe_shared_expert_intermediate_size", 7688);
  if (e.per_token > e.experts) f.error("num_experts_per_tok", "more than there are experts");
  if (e.experts % e.groups != 0 || e.top_groups > e.groups)
    f.error("n_group", "must divide the experts, and hold topk_group");
  return e;
}

}  // namespace

std::unique_ptr<Model> build_nemotron_h(Fields& f) {
  TransformerSpec s;
  s.architecture = "nemotron_h";
  s.embedding_name = "embeddings";
  s.final_norm.name = "norm_f";
  s.hidden = f.count("hidden_size", 4096);
  s.vocabulary = f.count("vocab_size", 131072);
  s.max_seq = f.count("max_position_embeddings", 4096);
  s.pattern = read_parts(f, {"hybrid_override_pattern",
                             {"layers_block_type", "layer_types"},
                             {"linear_attention", "moe", "full_attention", "mlp"}});
  f.ignore("num_hidden_layers");    // the pattern says it
  f.ignore("tie_word_embeddings");  // the library builds a head of its own whatever it says

  LayerSpec layer;
  layer.before_attention.name = "norm";
  layer.before_mlp = {};
  AttentionSpec& a = layer.attention;
  a.name = "mixer";
  a.heads = f.count("num_attention_heads", 32);
  a.kv_heads = f.optional_count("num_key_value_heads", 8).value_or(a.heads);
  a.qk_size = a.v_size = f.count("head_dim", 128);
  a.dropout = f.rate("attention_dropout", 0);
  check_heads(f, "num_attention_heads", "num_key_value_heads", s.hidden, a.heads, a.kv_heads, HeadSize::apart);
  MlpSpec plain;
  plain.name = "mixer";
  plain.inner = f.count("intermediate_size", 21504);
  plain.activation = read_activation(f, "mlp_hidden_act", "relu2");
  set_plain_mlp(plain, f.flag("mlp_bias", false), "up_proj", "down_proj");
  const Mamba2Spec mamba2 = read_mamba(f, s.hidden);
  const bool has_experts = std::find(s.pattern.begin(), s.pattern.end(), experts) != s.pattern.end();

  const auto layer_of = [&](int part, bool used) {
    LayerSpec kind = layer;
    kind.name = std::array{"mamba2", "attention", "mlp", "moe"}[static_cast<std::size_t>(part)];
    kind.has_attention = part == attention;
    if (part == mamba) kind.mixer = make_mamba2(mamba2);
    // Without layers of experts their sizes do not matter.
    if (part == mlp || (part == experts && !used)) kind.mixer = make_mlp_mixer(plain, s.hidden);
    if (part == experts && used) kind.mixer = make_plain_experts(read_experts(f, s.hidden, plain));
    return kind;
  };
  for (const int part : {mamba, attention, mlp, experts})
    s.kinds.push_back(layer_of(part, part != experts || has_experts));
  read_prediction(f, s, {"num_nextn_predict_layers", "num_mtp_layers"}, 0, layer);
  const std::vector<int> behind =
      read_parts(f, {"mtp_hybrid_override_pattern", "mtp_layers_block_type", {"full_attention", "moe"}});
  if (s.prediction.depths > 0) {
    s.prediction.layers.clear();
    for (const int part : behind) s.prediction.layers.push_back(layer_of(part, true));
    s.prediction.prefix = "mtp.layers.";
    s.prediction.last.name = "final_layernorm";
  }
  f.ignore({"attention_bias",
            "chunk_size",
            "mamba_chunk_size",
            "expand",
            "mamba_expand",
            "mamba_hidden_act",
            "mamba_proj_bias",
            "mamba_ssm_cache_dtype",
            "use_mamba_kernels",
            "time_step_min",
            "time_step_max",
            "time_step_limit",
            "time_step_floor",
            "time_step_rank",
            "rescale_prenorm_residual",
            "residual_in_fp32",
            "hidden_dropout",
            "num_logits_to_keep",
            "layer_norm_epsilon",
            "sliding_window",
            "rms_norm_eps",
            "n_routed_experts",
            "num_local_experts",
            "num_experts_per_tok",
            "n_shared_experts",
            "n_group",
            "topk_group",
            "moe_intermediate_size",
            "moe_shared_expert_intermediate_size",
            "moe_latent_size",
            "moe_shared_expert_overlap",
            "norm_topk_prob",
            "routed_scaling_factor",
            "attention_head_dim"});
  std::unique_ptr<Model> model = make_transformer(std::move(s));
  model->info.mixture_of_experts = has_experts;
  return model;
}

}  // namespace llmcalc
