// `architecture: transformer`: published families written out in plain switches give the same answers.
#include <string>
#include <vector>

#include "tests/catch.hpp"
#include "tests/support/estimates.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

struct Pair {
  std::string family, published, plain;
};

const std::string sizes =
    R"("hidden_size": 128, "num_hidden_layers": 5, "num_attention_heads": 8, "num_key_value_heads": 2,
  "vocab_size": 500, "intermediate_size": 352, "tie_word_embeddings": false)";
const std::string plain_sizes =
    R"("hidden_size": 128, "layers": 5, "heads": 8, "kv_heads": 2, "vocab_size": 500, "mlp_size": 352)";

const std::vector<Pair>& pairs() {
  static const std::vector<Pair> all{
      {"llama", R"("attention_bias": true, "mlp_bias": true)",
       R"("qkv_bias": true, "out_bias": true, "mlp_bias": true)"},
      {"mistral", R"("sliding_window": 16, "head_dim": 32)", R"("window": 16, "head_size": 32)"},
      {"qwen2", "", R"("qkv_bias": true)"},
      {"qwen3", R"("head_dim": 32)", R"("head_size": 32, "qk_norm": "head")"},
      {"starcoder2", R"("use_bias": true)",
       R"("norm": "layer", "qkv_bias": true, "out_bias": true, "mlp_bias": true, "gated_mlp": false, "activation": "gelu")"},
      {"gemma", R"("head_dim": 32)",
       R"("norm": "rms_plus_one", "head_size": 32, "scaled_embedding": true, "activation": "gelu")"},
      {"gemma2", R"("head_dim": 32, "sliding_window": 16)",
       R"("norm": "rms_plus_one", "norm_place": "both", "head_size": 32, "scaled_embedding": true, "activation": "gelu",
          "window": 16, "pattern": ["local", "global"], "score_softcap": 50.0, "logit_softcap": 30.0)"},
      {"olmo2", "",
       R"("norm": "rms_weighted_inside", "norm_place": "after", "qk_norm": "row", "positions": "rotary_float32")"},
      {"olmo", "", R"("norm": "layer_in_float32", "norm_weight": false, "positions": "rotary_float32")"},
      {"cohere", "",
       R"("norm": "layer_by_hand", "norm_place": "parallel", "positions": "rotary_pairs_cast", "logit_scale": 1)"},
      {"phi", R"("partial_rotary_factor": 0.5)",
       R"("norm": "layer", "norm_place": "parallel", "qkv_bias": true, "out_bias": true, "mlp_bias": true, "gated_mlp": false,
          "activation": "gelu_new", "rotary_fraction": 0.5, "head_bias": true)"},
      {"nemotron", R"("head_dim": 16, "partial_rotary_factor": 0.5)",
       R"("norm": "layer_plus_one", "norm_bias": true, "head_size": 16, "rotary_fraction": 0.5, "gated_mlp": false,
          "activation": "relu2")"},
      {"arcee", R"("head_dim": 16)", R"("head_size": 16, "gated_mlp": false, "activation": "relu2")"},
      {"mixtral", R"("num_local_experts": 8, "num_experts_per_tok": 2)",
       R"("experts": 8, "experts_per_token": 2, "expert_size": 352)"},
      {"qwen3_moe", R"("num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 64, "head_dim": 32)",
       R"("experts": 8, "experts_per_token": 2, "expert_size": 64, "head_size": 32, "qk_norm": "head",
          "normalised_weights": false, "weights_in_router_dtype": true)"},
      {"qwen3_moe", R"("num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 64, "head_dim": 32,
          "decoder_sparse_step": 2)",
       R"("experts": 8, "experts_per_token": 2, "expert_size": 64, "head_size": 32, "qk_norm": "head",
          "normalised_weights": false, "weights_in_router_dtype": true, "moe_every": 2)"},
      {"deepseek_v3", R"("n_routed_experts": 16, "num_experts_per_tok": 4, "moe_intermediate_size": 64, "n_group": 4,
          "topk_group": 2, "first_k_dense_replace": 1, "q_lora_rank": 48, "kv_lora_rank": 32, "qk_nope_head_dim": 16,
          "qk_rope_head_dim": 8, "v_head_dim": 24)",
       R"("experts": 16, "experts_per_token": 4, "expert_size": 64, "expert_groups": 4, "expert_top_groups": 2,
          "dense_layers": 1, "shared_expert_size": 64, "router": "sigmoid", "latent_q_rank": 48, "latent_kv_rank": 32,
          "head_size": 16, "latent_rotary_size": 8, "value_size": 24)"}};
  return all;
}

std::string document(const std::string& head, const std::string& more) {
  return "{" + head + (more.empty() ? "" : ", " + more) + "}";
}

}  // namespace

TEST_CASE("a published family and its plain switches are one model", "[architectures]") {
  CHECK(pairs().size() >= 10);
  for (const Pair& pair : pairs()) {
    INFO(pair.family);
    const ModelSource published =
        model_from_json(document("\"model_type\": \"" + pair.family + "\", " + sizes, pair.published));
    const ModelSource plain = model_from_json(document("\"model_type\": \"transformer\", " + plain_sizes, pair.plain));
    const ParameterCounts a = count_parameters(published.model->parameters),
                          b = count_parameters(plain.model->parameters);
    CHECK(a.total == b.total);
    CHECK(a.active == b.active);
    CHECK(a.compute == b.compute);
    for (const std::string precision : {"fp32", "bf16", "amp-bf16"}) {
      INFO(precision);
      const std::vector<GivenOption> options{
          {"batch", "2"}, {"seq", "40"}, {"precision", precision}, {"attention", "eager"}};
      const Report left = estimated(published, options), right = estimated(plain, options);
      CHECK(left.flops->model.value() == right.flops->model.value());
      CHECK(left.memory.saved_for_backward->value() == right.memory.saved_for_backward->value());
      CHECK(left.memory.peak.value() == right.memory.peak.value());
    }
  }
}

TEST_CASE("plain switches that make no sense are refused", "[architectures]") {
  for (const std::string more :
       {R"("norm": "rsm")", R"("heads": 7)", R"("pattern": ["lokal"])", R"("positions": "rotory")",
        R"("experts": 4, "experts_per_token": 5, "expert_size": 8)", R"("rotary_fraction": 0.01)",
        R"("rotary_fraction": 2)", R"("rotary_fraction": 1e300)", R"("rotary_fraction": -1)",
        R"("attention_dropout": 1.5)", R"("experts": 6, "experts_per_token": 2, "expert_size": 8, "expert_groups": 4)",
        R"("experts": 4, "experts_per_token": 2, "expert_size": 8, "expert_top_groups": 2)",
        R"("experts": 4, "experts_per_token": 2, "expert_size": 8, "norm_place": "parallel")",
        R"("experts": 4, "experts_per_token": 2, "expert_size": 8, "norm_place": "parallel_two_norms")"}) {
    INFO(more);
    CHECK_THROWS_AS(
        model_from_json(document("\"model_type\": \"transformer\", \"hidden_size\": 128, \"layers\": 2, "
                                 "\"vocab_size\": 100, \"mlp_size\": 64" +
                                     std::string(more.find("heads") == std::string::npos ? ", \"heads\": 8" : ""),
                                 more)),
        Error);
  }
}

TEST_CASE("plain switches: parameters by hand", "[architectures]") {
  const auto total = [](const std::string& more) {
    const ModelSource model = model_from_json(document(
        R"("model_type": "transformer", "hidden_size": 128, "layers": 3, "heads": 8, "vocab_size": 100, "mlp_size": 64)",
        more));
    return count_parameters(model.model->parameters).total;
  };
  // Embedding and head; a layer's attention 4 x 128 x 128, MLP 3 x 128 x 64 and two norms; the last norm.
  const Count bare = 2 * 100 * 128 + 3 * (4 * 128 * 128 + 3 * 128 * 64 + 2 * 128) + 128;
  CHECK(total("") == bare);
  CHECK(total(R"("positions": "none")") == bare);
  CHECK(total(R"("positions": "learned", "context": 50)") == bare + 50 * 128);
  CHECK(total(R"("sinks": true)") == bare + 3 * 8);
  CHECK(total(R"("norm_place": "parallel")") == bare - 3 * 128);
  CHECK(total(R"("norm_place": "parallel_two_norms")") == bare);
  CHECK(total(R"("norm": "layer", "qk_norm": "head")") == bare + 7 * 128 + 3 * 2 * (16 + 16));
  CHECK(total(R"("norm": "layer", "qk_norm": "row")") == bare + 7 * 128 + 3 * 2 * 128);
  // Two of three layers: router 4 x 128 and four experts instead of the MLP.
  CHECK(total(R"("experts": 4, "experts_per_token": 2, "expert_size": 16, "dense_layers": 1)") ==
        bare + 2 * (4 * 128 + 4 * 3 * 128 * 16 - 3 * 128 * 64));
  CHECK(total(R"("experts": 4, "experts_per_token": 2, "expert_size": 16, "moe_every": 2)") ==
        bare + 4 * 128 + 4 * 3 * 128 * 16 - 3 * 128 * 64);
}
