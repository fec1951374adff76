// Multi-token prediction: what --mtp adds, against published figures, PyTorch and hand computation.
#include <string>
#include <vector>

#include "tests/catch.hpp"
#include "tests/support/estimates.hpp"
#include "tests/support/jobs.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

// Parameters that the heads add; 0 where there are none.
Count added(const ModelSource& source) {
  if (!source.model->with_prediction) return 0;
  const ParameterCounts with = count_parameters(*source.model->with_prediction);
  CHECK(with.total == count_parameters(source.model->parameters).total + with.prediction);
  return with.prediction;
}

Count added(const std::string& json) { return added(model_from_json(json)); }

double tflop(const char* convention, bool mtp) {
  std::vector<GivenOption> options{{"seq", "4096"}, {"attention-flops", convention}};
  if (mtp) options.push_back({"mtp", ""});
  return estimated(built_in_model("deepseek-v3-671b"), options).flops->model.as_double() / 1e12;
}

const std::string deepseek =
    R"({"model_type": "deepseek_v3", "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 3,
    "moe_intermediate_size": 24, "num_attention_heads": 4, "num_key_value_heads": 4, "vocab_size": 200,
    "n_routed_experts": 8, "n_shared_experts": 1, "num_experts_per_tok": 2, "n_group": 2, "topk_group": 1,
    "first_k_dense_replace": 1, "q_lora_rank": 24, "kv_lora_rank": 16, "qk_nope_head_dim": 16, "qk_rope_head_dim": 8,
    "v_head_dim": 16, "num_nextn_predict_layers": )";

const std::string glm =
    R"({"model_type": "glm4_moe", "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2,
    "moe_intermediate_size": 24, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16, "vocab_size": 200,
    "n_routed_experts": 8, "n_shared_experts": 1, "num_experts_per_tok": 2, "n_group": 1, "topk_group": 1,
    "first_k_dense_replace": 1, "use_qk_norm": true, "attention_bias": true, "partial_rotary_factor": 0.5,
    "num_nextn_predict_layers": )";

const std::string plain =
    R"({"model_type": "transformer", "hidden_size": 8, "layers": 2, "heads": 2, "kv_heads": 1, "vocab_size": 32,
    "mlp_size": 16, "prediction_heads": )";

}  // namespace

TEST_CASE("DeepSeek-V3's module is as large as published", "[prediction]") {
  // Its README_WEIGHTS.md: 11.5 B of its own, beside the shared embedding and head of 0.9 B each (14 B in all). A layer
  // with experts has 187107328 (latent attention) + 256 x 3 x 7168 x 2048 + 3 x 7168 x 2048 (shared) + 256 x 7168
  // (router) + 2 x 7168 = 11507286016; before it stand 2 x 7168 x 7168 and two norms, behind it one.
  const ModelSource source = built_in_model("deepseek-v3-671b");
  CHECK(added(source) == 11'507'286'016 + 2 * 7168 * 7168 + 3 * 7168);
  CHECK(count_parameters(source.model->parameters).total == 671'026'404'352);  // off unless asked for
  const ParameterCounts with = count_parameters(*source.model->with_prediction);
  // A token visits 8 of 256 experts here too.
  CHECK(with.total - with.active == 59 * 248LL * 3 * 7168 * 2048);
}

TEST_CASE("FLOPs of DeepSeek-V3 with its module", "[prediction][flops]") {
  // One sequence of 4096 tokens: this program's half and full squares, and what the functions of Megatron-LM (without
  // routers) and MaxText (without the module's projection and head) give for the same shapes.
  CHECK(tflop("causal", false) == Approx(1025.843).epsilon(2e-6));
  CHECK(tflop("causal", true) == Approx(1067.588).epsilon(2e-6));
  CHECK(tflop("full", true) == Approx(1195.406).epsilon(2e-6));
  CHECK(tflop("megatron", true) == Approx(1064.931).epsilon(5e-6));
  CHECK(tflop("maxtext", true) == Approx(1042.289).epsilon(2e-6));
}

TEST_CASE("layers of multi-token prediction are the library's", "[prediction][memory]") {
  // Parameters of transformers 5.24's MtpModel, and the bytes autograd keeps (torch 2.15, fake CUDA tensors) when it
  // runs behind the model, batch 2, 40 tokens, each depth's cross-entropy added to the loss.
  struct Row {
    std::string config;
    Count depths, parameters;
    const char* precision;
    const char* attention;
    Count saved, autocast_weights;
  };
  const Row rows[] = {{deepseek, 1, 62056, "fp32", "eager", 2321064, 0},
                      {deepseek, 1, 62056, "bf16", "efficient", 1410280, 0},
                      {deepseek, 1, 62056, "amp-bf16", "eager", 2033704, 201728},
                      {deepseek, 2, 124112, "bf16", "eager", 2216140, 0},
                      {deepseek, 2, 124112, "amp-bf16", "efficient", 2371100, 251392},
                      {glm, 1, 62944, "fp32", "efficient", 1668984, 0},
                      {glm, 1, 62944, "bf16", "eager", 1342792, 0},
                      {glm, 1, 62944, "amp-bf16", "efficient", 1414264, 173056}};
  for (const Row& row : rows) {
    INFO(row.config << row.depths << " " << row.precision << " " << row.attention);
    const ModelSource source = model_from_json(row.config + std::to_string(row.depths) + "}");
    CHECK(added(source) == row.parameters);
    const Report report = estimated(
        source,
        {{"batch", "2"}, {"seq", "40"}, {"precision", row.precision}, {"attention", row.attention}, {"mtp", ""}});
    CHECK(report.parameters.prediction == row.parameters);
    CHECK(report.memory.saved_for_backward->value() == row.saved);
    CHECK(report.memory.autocast_weights.value_or(Bytes()).value() == row.autocast_weights);
  }
}

TEST_CASE("each family has its own form of heads", "[prediction]") {
  // Norms 2 x 8, projection 16 x 8, layer 192 + 384 + 2 x 8, last norm 8.
  CHECK(added(plain + "1}") == 16 + 128 + 592 + 8);
  CHECK(added(plain + "3}") == 3 * 744);
  // Attention q and gate 8 x 64, k and v 8 x 16, out 32 x 8, norms of 16; experts 4 x 3 x 8 x 8, router 4 x 8, shared
  // 3 x 8 x 8 and its gate 8; norms 2 x 8: 2072. Norms and projection stand once for all depths: 3 x 8 + 16 x 8.
  const std::string qwen = R"({"model_type": "qwen3_next", "hidden_size": 8, "num_hidden_layers": 4, "vocab_size": 32,
      "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 16, "num_experts": 4, "num_experts_per_tok": 2,
      "moe_intermediate_size": 8, "shared_expert_intermediate_size": 8, "num_nextn_predict_layers": )";
  CHECK(added(qwen + "1}") == 24 + 128 + 2072);
  CHECK(added(qwen + "2}") == 24 + 128 + 2 * 2072);
  // A dense layer with biases, 216 + 424 + 16, behind two norms and a projection with a bias; no norm of its own.
  CHECK(added(R"({"model_type": "ernie4_5_moe", "hidden_size": 8, "num_hidden_layers": 2, "vocab_size": 32,
      "num_attention_heads": 2, "num_key_value_heads": 1, "intermediate_size": 16, "use_bias": true,
      "num_nextn_predict_layers": 1})") == 16 + 136 + 656);
  // Attention 8 + 192 and experts 8 + 4 x 2 x 64 + 32 + 2 x 64, one layer each, between the usual ends.
  CHECK(added(R"({"model_type": "nemotron_h", "hidden_size": 8, "vocab_size": 32, "num_attention_heads": 2,
      "num_key_value_heads": 1, "head_dim": 4, "n_routed_experts": 4, "num_experts_per_tok": 2,
      "moe_intermediate_size": 8, "moe_shared_expert_intermediate_size": 8, "hybrid_override_pattern": "-*",
      "num_nextn_predict_layers": 1})") == 16 + 128 + 200 + 680 + 8);
  // Attention 192 + norms of whole rows 8 + 4, router 32, experts 4 x 3 x 8 x 16, norms 16.
  CHECK(added(R"({"model_type": "minimax_m2", "hidden_size": 8, "num_hidden_layers": 2, "vocab_size": 32,
      "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 4, "num_local_experts": 4,
      "num_experts_per_tok": 2, "intermediate_size": 16, "num_mtp_modules": 1})") ==
        16 + 128 + 204 + 32 + 1536 + 16 + 8);
}

TEST_CASE("a head's FLOPs, gradients and states", "[prediction]") {
  const ModelSource source = model_from_json(plain + "1}");
  const std::vector<GivenOption> options{{"seq", "4"}, {"precision", "fp32"}, {"attention-flops", "full"}};
  std::vector<GivenOption> with = options;
  with.push_back({"mtp", ""});
  const Report one = estimated(source, options), two = estimated(source, with);
  // Per token: projection 128, layer 576, head 32 x 8; attention 2 products of 4 x 4 pairs, 2 heads of 4 elements.
  CHECK((two.flops->forward - one.flops->forward).value() == 4 * 2 * (128 + 576 + 256) + 2 * 2 * 16 * 2 * 4);
  CHECK((two.flops->model - one.flops->model).value() == 3 * (two.flops->forward - one.flops->forward).value());
  CHECK((two.memory.parameters - one.memory.parameters).value() == 4 * 744);
  CHECK((two.memory.optimizer_states - one.memory.optimizer_states).value() == 8 * 744);
  CHECK(two.memory.peak > one.memory.peak);
  CHECK(two.parameters.prediction == 744);
  CHECK(one.parameters.prediction == 0);
  with.push_back({"recompute", "full"});
  CHECK(estimated(source, with).memory.saved_for_backward->value() < two.memory.saved_for_backward->value());
}

TEST_CASE("heads that are not there are not built", "[prediction]") {
  const auto refusal = [](const ModelSource& source, const std::vector<GivenOption>& options) {
    try {
      estimated(source, options);
    } catch (const Error& error) {
      return error.diagnostics().front().message + " " + error.diagnostics().front().hint;
    }
    return std::string();
  };
  CHECK(refusal(built_in_model("gpt2"), {{"mtp", ""}}).find("num_nextn_predict_layers") != std::string::npos);
  CHECK(refusal(model_from_json(plain + "0}"), {{"mtp", ""}}).find("states no heads") != std::string::npos);
  CHECK(refusal(built_in_model("deepseek-v3-671b"), {{"mtp", ""}, {"mode", "infer"}}).find("--mtp") !=
        std::string::npos);
}
