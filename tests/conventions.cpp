// FLOPs by the conventions of other projects, against the figures those projects publish or compute.
#include "core/conventions.hpp"

#include "core/estimate.hpp"
#include "tests/catch.hpp"
#include "tests/support/estimates.hpp"
#include "tests/support/jobs.hpp"

using namespace llmcalc;

namespace {

// TFLOP of training on one sequence.
double training_tflop(const char* model, const char* seq, const char* convention) {
  const Report report =
      estimate(test::built_in_model(model), nullptr, test::options_of({{"seq", seq}, {"attention-flops", convention}}));
  CHECK(report.flops->convention == convention);
  CHECK(report.flops->model_per_token * static_cast<double>(report.run.seq) == Approx(report.flops->model.as_double()));
  return report.flops->model.as_double() / 1e12;
}

}  // namespace

TEST_CASE("dense models by every convention") {
  struct Row {
    const char* model;
    const char* seq;
    const char* convention;
    double tflop;
  };
  // The projects' own functions run on these shapes, or their formulas evaluated.
  const Row rows[] = {
      {"llama-3-8b", "8192", "causal", 421.646},        {"llama-3-8b", "8192", "full", 474.422},
      {"llama-3-8b", "8192", "6nd", 394.703},           {"llama-3-8b", "8192", "palm", 500.257},
      {"llama-3-8b", "8192", "nanogpt", 500.257},       {"llama-3-8b", "8192", "llm-foundry", 500.257},
      {"llama-3-8b", "8192", "megatron", 421.646},      {"llama-3-8b", "8192", "maxtext", 421.646},
      {"llama-3-8b", "8192", "torchtitan", 474.435},    {"llama-2-70b", "4096", "causal", 1754.666},
      {"llama-2-70b", "4096", "6nd", 1695.170},         {"llama-2-70b", "4096", "megatron", 1754.666},
      {"llama-2-70b", "4096", "torchtitan", 1820.669},  {"llama-2-70b", "4096", "nanogpt", 1827.112},
      {"llama-2-70b", "4096", "llm-foundry", 1827.112},
  };
  for (const Row& row : rows) {
    INFO(row.model << " " << row.convention);
    CHECK(training_tflop(row.model, row.seq, row.convention) == Approx(row.tflop).epsilon(2e-6));
  }
}

TEST_CASE("figures that Megatron-Bridge's tests hold") {
  // tests/functional_tests/test_groups/utils/test_flop_utils.py, to three digits.
  CHECK(training_tflop("llama-3-8b", "8192", "megatron") == Approx(4.22e2).epsilon(2e-3));
  CHECK(training_tflop("llama-3-70b", "8192", "megatron") == Approx(3.68e3).epsilon(2e-3));
  CHECK(training_tflop("qwen3-235b-a22b", "4096", "megatron") == Approx(6.06e2).epsilon(2e-3));
  // Qwen3-30B-A3B at 4096.
  const ModelSource qwen = test::model_from_json(R"({"model_type": "qwen3_moe", "hidden_size": 2048,
      "num_hidden_layers": 48, "num_attention_heads": 32, "num_key_value_heads": 4, "head_dim": 128,
      "intermediate_size": 6144, "moe_intermediate_size": 768, "num_experts": 128, "num_experts_per_tok": 8,
      "norm_topk_prob": true, "vocab_size": 151936, "tie_word_embeddings": false})");
  const auto tflop = [&](const char* convention) {
    const RunOptions options = test::options_of({{"seq", "4096"}, {"attention-flops", convention}});
    return estimate(qwen, nullptr, options).flops->model.as_double() / 1e12;
  };
  CHECK(tflop("megatron") == Approx(9.42e1).epsilon(2e-3));
  CHECK(tflop("causal") == Approx(94.543).epsilon(1e-5));  // routers too
}

TEST_CASE("mixtures of experts: routers count or not") {
  // Megatron-LM leaves the router out, MaxText does not; both functions run on these shapes.
  CHECK(training_tflop("mixtral-8x7b", "4096", "megatron") == Approx(326.478).epsilon(2e-6));
  CHECK(training_tflop("mixtral-8x7b", "4096", "maxtext") == Approx(326.503).epsilon(2e-6));
  CHECK(training_tflop("deepseek-v3-671b", "4096", "megatron") == Approx(1023.230).epsilon(5e-6));
  CHECK(training_tflop("deepseek-v3-671b", "4096", "maxtext") == Approx(1025.843).epsilon(2e-6));
}

TEST_CASE("Megatron knows no window, MaxText does") {
  // Mistral 7B v0.1, window 4096, at 8192: the square's half is 33,554,432 pairs, the window leaves 25,165,824. One
  // pair is 3 passes x 2 products x 2 FLOPs x 4096 in each of 32 layers.
  const double difference =
      training_tflop("mistral-7b-v0.1", "8192", "megatron") - training_tflop("mistral-7b-v0.1", "8192", "maxtext");
  CHECK(difference == Approx(12.0 * 4096 * 32 * (33554432.0 - 25165824.0) / 1e12));
}

TEST_CASE("a convention changes what is called model FLOPs, not what runs") {
  const Device device = built_in_device("h100-sxm");
  const auto run = [&](const char* convention) {
    return estimate(test::built_in_model("gpt2"), &device, test::options_of({{"attention-flops", convention}}));
  };
  const Report causal = run("causal"), palm = run("palm");
  CHECK(palm.flops->model > causal.flops->model);
  CHECK(palm.flops->hardware == causal.flops->hardware);
  CHECK(*palm.time->step == *causal.time->step);
  CHECK_THROWS_AS(run("pallm"), Error);
}
