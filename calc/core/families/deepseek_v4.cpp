// DeepSeek V4: one key/value head of low rank, compressed and indexed long-range keys, hashed and routed experts,
// several residual streams. Parameters are counted; the trace has the local attention and the experts alone.
#include <algorithm>
#include <map>

#include "core/families/common.hpp"
#include "core/families/families.hpp"
#include "core/transformer/experts.hpp"

namespace llmcalc {
namespace {

enum LayerType : int { sliding = 0, sparse = 1, heavy = 2 };

// The parameters of the part that looks further back, and of its own choice of keys.
std::vector<ExtraParameter> compressor(Fields& f, Count hidden, Count head, Count rank, LayerType type) {
  if (type == sliding) return {};
  constexpr Count sparse_rate = 4, heavy_rate = 128;
  const std::string name = "self_attn.compressor.";
  const Count rows = type == sparse ? 2 * head : head, rate = type == sparse ? sparse_rate : heavy_rate;
  std::vector<ExtraParameter> all{{name + "position_bias", {rate, rows}},
                                  {name + "kv_proj.weight", {rows, hidden}},
                                  {name + "gate_proj.weight", {rows, hidden}},
                                  {name + "kv_norm.weight", {head}}};
  const Count index_heads = f.count("index_n_heads", 64), index_size = f.count("index_head_dim", 128);
  if (type == heavy) return all;
  const std::string indexer = name + "indexer.";
  all.push_back({indexer + "position_bias", {rate, 2 * index_size}});
  all.push_back({indexer + "kv_proj.weight", {2 * index_size, hidden}});
  all.push_back({indexer + "gate_proj.weight", {2 * index_size, hidden}});
  all.push_back({indexer + "kv_norm.weight", {index_size}});
  all.push_back({indexer + "q_b_proj.weight", {index_heads * index_size, rank}});
  all.push_back({indexer + "scorer.weights_proj.weight", {index_heads, hidden}});
  return all;
}

// Which kind of attention each layer has: by name, by its compression, or the usual alternation. A list may go on for
// the layers of multi-token prediction.
std::vector<LayerType> layer_types(Fields& f, std::size_t layers) {
  static const std::map<std::string, LayerType> named{
      {"sliding_attention", sliding}, {"compressed_sparse_attention", sparse}, {"heavily_compressed_attention", heavy}};
  static const std::map<Count, LayerType> compressed{{0, sliding}, {4, sparse}, {128, heavy}};
  std::vector<LayerType> types(layers, heavy);
  const auto take = [&](const char* key, const auto& list, const auto& known) {
    if (list.size() < layers)
      f.error(key, "names " + std::to_string(list.size()) + " layers, the model has " + std::to_string(layers));
    for (std::size_t n = 0; n < std::min(list.size(), layers); ++n) {
      const auto found = known.find(list[n]);
      if (found == known.end()) return f.error(key, "layer " + std::to_string(n) + " is of no known kind");
      types[n] = found->second;
    }
  };
  const std::vector<std::string> names = f.texts("layer_types");
  const std::vector<Count> ratios = f.counts("compress_ratios");
  if (!names.empty()) {
    take("layer_types", names, named);
  } else if (!ratios.empty()) {
    take("compress_ratios", ratios, compressed);
  } else {
    for (std::size_t n = 3; n < layers; n += 2) types[n] = sparse;
  }
  return types;
}

}  // namespace

std::unique_ptr<Model> build_deepseek_v4(Fields& f) {
  TransformerSpec s =
      read_llama_like(f, "deepseek_v4", {.inner = 0, .max_seq = 1048576, .kv_heads = 1, .head_size = 512});
  LayerSpec layer = s.kinds.front();
  AttentionSpec& a = layer.attention;
  const Count rank = f.count("q_lora_rank", 1024), groups = f.count("o_groups", 8),
              out_rank = f.count("o_lora_rank", 1024);
  const Count streams = f.count("hc_mult", 4);
  a.low_rank = LowRankSpec{rank, groups, out_rank, {}};
  a.window = f.optional_count("sliding_window", 128);
  a.scores.sinks = true;
  a.why_not_fused = "its scores have learned sinks";
  if (a.heads * a.qk_size % groups != 0) f.error("o_groups", "groups must divide the rows of all heads");
  ExpertsSpec e;
  e.router = RouterKind::sigmoid_top;
  e.experts = f.count({"n_routed_experts", "num_local_experts"}, 256);
  e.per_token = std::min(f.count("num_experts_per_tok", 6), e.experts);
  e.inner = f.count("moe_intermediate_size", 2048);
  e.activation = layer.mlp.activation;
  e.shared = layer.mlp;
  e.shared.name = "shared_experts";
  e.shared.inner = e.inner;  // one, whatever n_shared_experts says
  e.shared.up_bias = e.shared.down_bias = f.flag("mlp_bias", false);
  layer.experts = std::make_shared<const ExpertsSpec>(e);
  layer.name = "moe";
  // Each part mixes `streams` residual streams: weights for reading, writing and a matrix between them.
  const Count mixes = streams * (2 + streams);
  std::vector<ExtraParameter> mixing;
  for (const std::string part : {"attn_hc.", "ffn_hc."}) {
    mixing.push_back({part + "fn", {mixes, streams * s.hidden}});
    mixing.push_back({part + "base", {mixes}});
    mixing.push_back({part + "scale", {3}});
  }
  s.extra = {
      {"hc_head.hc_fn", {streams, streams * s.hidden}}, {"hc_head.hc_base", {streams}}, {"hc_head.hc_scale", {1}}};
  s.kinds.clear();
  for (const LayerType type : {sliding, sparse, heavy}) {
    LayerSpec kind = layer;
    kind.extra = compressor(f, s.hidden, a.qk_size, rank, type);
    kind.extra.insert(kind.extra.end(), mixing.begin(), mixing.end());
    s.kinds.push_back(kind);
  }
  const std::vector<LayerType> types = layer_types(f, s.pattern.size());
  for (std::size_t n = 0; n < types.size(); ++n) s.pattern[n] = types[n];
  // The released modules have two projections, of the size of one of both, and a mixing head of their own.
  LayerSpec behind = s.kinds[sliding];
  for (const ExtraParameter& extra : s.extra) behind.extra.push_back(extra);
  read_prediction(f, s, {"num_nextn_predict_layers", "num_mtp_layers"}, 1, behind);
  s.prediction.prefix = "mtp.";
  s.prediction.last.name = "norm";
  f.ignore({"hc_sinkhorn_iters",    "hc_eps",
            "index_topk",           "mlp_layer_types",
            "num_hash_layers",      "qk_rope_head_dim",
            "scoring_func",         "swiglu_limit",
            "norm_topk_prob",       "routed_scaling_factor",
            "topk_method",          "attention_bias",
            "n_shared_experts",     "expert_dtype",
            "compress_rope_theta",  "compress_rates",
            "output_router_logits", "router_aux_loss_coef",
            "router_jitter_noise",  "partial_rotary_factor"});
  return make_transformer(std::move(s));
}

}  // namespace llmcalc
