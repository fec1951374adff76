// `architecture: transformer`: a decoder written out in plain switches (docs/reference/architectures.md).
#include <algorithm>
#include <cmath>
#include <map>

#include "core/families/common.hpp"
#include "core/families/families.hpp"
#include "core/suggest.hpp"
#include "core/transformer/experts.hpp"

namespace llmcalc {
namespace {

// The value of a text key by name; an unknown one is an error with the nearest.
template <class Value>
Value choice(Fields& f, const char* key, const char* assumed, const std::map<std::string, Value>& table) {
  const std::string named = f.text(key, assumed);
  const auto found = table.find(named);
  if (found != table.end()) return found->second;
  std::vector<std::string> names;
  for (const auto& [name, value] : table) names.push_back(name);
  f.error(key, "unknown value " + in_quotes(named), did_you_mean(named, names));
  return table.at(assumed);
}

void read_attention(Fields& f, TransformerSpec& s, AttentionSpec& a) {
  a.heads = f.count("heads");
  a.kv_heads = f.count("kv_heads", a.heads);
  const std::optional<Count> head_size = f.optional_count("head_size", std::nullopt);
  a.qk_size = head_size.value_or(s.hidden / a.heads);
  a.v_size = f.count("value_size", std::max<Count>(a.qk_size, 1));
  check_heads(f, "heads", "kv_heads", s.hidden, a.heads, a.kv_heads, head_size ? HeadSize::apart : HeadSize::divides);
  a.qkv_bias = f.flag("qkv_bias", false);
  a.out_bias = f.flag("out_bias", false);
  a.window = f.optional_count("window", std::nullopt);
  a.scores.sinks = f.flag("sinks", false);
  a.scores.softcap = f.optional_number("score_softcap", std::nullopt);
  if (a.scores.sinks) a.why_not_fused = "its scores have learned sinks";
  if (a.scores.softcap) a.why_not_fused = "its scores are soft-capped";
  a.dropout = f.rate("attention_dropout", 0);
  a.qk_norm = choice<QkNorm>(f, "qk_norm", "none",
                             {{"none", QkNorm::none},
                              {"head", QkNorm::per_head},
                              {"row", QkNorm::all_heads},
                              {"heads_by_size", QkNorm::heads_by_size}});
  a.rotary.style = choice<RotaryStyle>(f, "positions", "rotary",
                                       {{"rotary", RotaryStyle::halves},
                                        {"rotary_float32", RotaryStyle::halves_float32},
                                        {"rotary_pairs", RotaryStyle::pairs},
                                        {"rotary_pairs_float32", RotaryStyle::pairs_float32},
                                        {"rotary_pairs_cast", RotaryStyle::pairs_cast},
                                        {"learned", RotaryStyle::none},
                                        {"none", RotaryStyle::none}});
  if (f.text("positions", "rotary") == "learned") {
    s.positions = s.max_seq;
    s.positions_name = "embed_positions";
  }
  const double fraction = f.rate("rotary_fraction", 1);
  a.rotary.size = static_cast<Count>(static_cast<double>(a.qk_size) * fraction);
  a.rotary.concatenates = f.has("rotary_fraction");
  if (const std::optional<Count> kv_rank = f.optional_count("latent_kv_rank", std::nullopt)) {
    LatentSpec latent;
    latent.kv_rank = *kv_rank;
    latent.q_rank = f.optional_count("latent_q_rank", std::nullopt);
    latent.rotary_size = f.count("latent_rotary_size", 64);
    latent.plain_size = a.qk_size;
    a.qk_size += latent.rotary_size;
    a.kv_heads = a.heads;
    a.rotary = {RotaryStyle::regrouped, latent.rotary_size, false};
    a.latent = latent;
  }
  if (a.rotary.style == RotaryStyle::none) return;
  if (!can_turn(a.rotary.size, a.qk_size))
    f.error("rotary_fraction", "rotary positions need an even number of a head's elements, at most all");
  s.rotary_sizes = {a.rotary.size};
}

NormSpec read_norm(Fields& f) {
  NormSpec norm;
  norm.kind = choice<NormKind>(f, "norm", "rms",
                               {{"rms", NormKind::rms},
                                {"rms_weighted_inside", NormKind::rms_weighted_inside},
                                {"rms_plus_one", NormKind::rms_plus_one},
                                {"layer", NormKind::layer},
                                {"layer_in_float32", NormKind::layer_in_float32},
                                {"layer_by_hand", NormKind::layer_by_hand},
                                {"layer_plus_one", NormKind::layer_plus_one}});
  norm.weight = f.flag("norm_weight", true);
  norm.bias = f.flag("norm_bias", norm.kind == NormKind::layer);
  return norm;
}

enum class NormPlace { before, after, both, parallel, parallel_two };

void place_norms(LayerSpec& layer, NormPlace place) {
  const NamedNorm none;
  if (place == NormPlace::after) layer.before_attention = layer.before_mlp = none;
  if (place == NormPlace::after || place == NormPlace::both) {
    layer.after_attention.name = "post_self_attn_layernorm";
    layer.after_mlp.name = "post_mlp_layernorm";
  }
  if (place == NormPlace::parallel || place == NormPlace::parallel_two) layer.form = BlockForm::parallel;
  if (place == NormPlace::parallel) layer.before_mlp = none;
}

// `experts: N` with their sizes; the layers before `dense_layers` and those `moe_every` leaves out keep the MLP.
void read_experts(Fields& f, TransformerSpec& s, const MlpSpec& mlp) {
  ExpertsSpec e;
  e.experts = f.count("experts");
  e.per_token = f.count("experts_per_token");
  e.inner = f.count("expert_size");
  e.activation = mlp.activation;
  e.router = choice<RouterKind>(f, "router", "softmax",
                                {{"softmax", RouterKind::softmax_top},
                                 {"softmax_of_chosen", RouterKind::top_softmax},
                                 {"sigmoid", RouterKind::sigmoid_groups}});
  e.router_float32 = e.correction_buffer = e.router == RouterKind::sigmoid_groups;
  e.router_bias = f.flag("router_bias", false);
  e.normalises = f.flag("normalised_weights", true);
  e.weights_in_router_dtype = f.flag("weights_in_router_dtype", false);
  e.biases = f.flag("expert_bias", false);
  e.groups = f.count("expert_groups", 1);
  e.top_groups = f.count("expert_top_groups", 1);
  e.shared = mlp;
  e.shared.name = "shared_experts";
  e.shared.inner = f.count_or_zero("shared_expert_size", 0);
  if (e.per_token > e.experts || e.experts % e.groups != 0 || e.top_groups > e.groups) {
    f.error("experts", "a token visits at most all experts, and groups divide them");
    return;
  }
  const Count dense = f.count_or_zero("dense_layers", 0), every = f.count("moe_every", 1);
  const std::size_t kinds = s.kinds.size();
  for (std::size_t i = 0; i < kinds; ++i) {
    LayerSpec moe = s.kinds[i];
    moe.name = "moe";
    moe.mlp.inner = 0;
    moe.experts = std::make_shared<const ExpertsSpec>(e);
    s.kinds.push_back(std::move(moe));
  }
  for (std::size_t n = 0; n < s.pattern.size(); ++n) {
    const Count index = static_cast<Count>(n);
    if (index >= dense && (index + 1) % every == 0) s.pattern[n] += static_cast<int>(kinds);
  }
}

}  // namespace

std::unique_ptr<Model> build_plain(Fields& f) {
  TransformerSpec s;
  s.architecture = "transformer";
  s.hidden = f.count("hidden_size");
  s.vocabulary = f.count("vocab_size");
  s.max_seq = f.count("context", 2048);
  s.pattern.assign(static_cast<std::size_t>(f.layers("layers")), 0);
  s.tied = f.flag("tied_head", false);
  s.head_bias = f.flag("head_bias", false);
  s.logit_softcap = f.optional_number("logit_softcap", std::nullopt);
  s.logit_scale = f.optional_number("logit_scale", std::nullopt);
  if (f.flag("scaled_embedding", false)) s.embedding_multiplier = std::sqrt(static_cast<double>(s.hidden));
  s.embedding_dropout = f.rate("embedding_dropout", 0);
  LayerSpec layer;
  AttentionSpec& a = layer.attention;
  read_attention(f, s, a);
  MlpSpec& m = layer.mlp;
  m.gated = f.flag("gated_mlp", true);
  m.activation = read_activation(f, "activation", "silu");
  m.up_bias = m.down_bias = f.flag("mlp_bias", false);
  const bool has_experts = f.has("experts");
  m.inner = has_experts ? f.count("mlp_size", 4 * s.hidden) : f.count("mlp_size");
  a.out_dropout = m.dropout = f.rate("residual_dropout", 0);
  const NormPlace place = choice<NormPlace>(f, "norm_place", "before",
                                            {{"before", NormPlace::before},
                                             {"after", NormPlace::after},
                                             {"both", NormPlace::both},
                                             {"parallel", NormPlace::parallel},
                                             {"parallel_two_norms", NormPlace::parallel_two}});
  if (has_experts && (place == NormPlace::parallel || place == NormPlace::parallel_two))
    f.error("norm_place", "experts beside attention in parallel are not known here");
  const NormSpec norm = read_norm(f);
  place_norms(layer, place);
  if (a.latent) a.latent->norm = norm;
  a.q_k_norm = norm;
  a.q_k_norm.bias = norm.bias && a.qk_norm == QkNorm::per_head;
  s.kinds.push_back(layer);
  set_norms(s, norm);
  // `pattern` is repeated over the layers; `global` layers have no window.
  const std::vector<std::string> pattern = f.texts("pattern");
  if (!pattern.empty()) {
    s.kinds.push_back(s.kinds.front());
    s.kinds[1].attention.window.reset();
    for (const std::string& kind : pattern)
      if (kind != "local" && kind != "global") f.error("pattern", "a layer is local or global, not " + in_quotes(kind));
    for (std::size_t n = 0; n < s.pattern.size(); ++n) s.pattern[n] = pattern[n % pattern.size()] == "global" ? 1 : 0;
  }
  if (has_experts) read_experts(f, s, m);
  read_prediction(f, s, "prediction_heads", 0, s.kinds[static_cast<std::size_t>(s.pattern.back())]);
  return make_transformer(std::move(s));
}

}  // namespace llmcalc
