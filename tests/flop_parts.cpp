// Why the device executes more than the model FLOPs, and what is in them: each cause on its own.
#include "core/roofline.hpp"
#include "core/utilization.hpp"
#include "report/estimate.hpp"
#include "report/estimate_reasons.hpp"
#include "tests/catch.hpp"
#include "tests/support/estimates.hpp"
#include "tests/support/jobs.hpp"
#include "tests/support/runs.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

Report run(const std::string& model, std::vector<GivenOption> options) {
  options.push_back({"batch", "1"});
  return estimated(built_in_model(model), options);
}

std::string reasons(const Report& report) {
  std::string text;
  for (const auto& row : report::rule_and_exact(report).rows) text += row.back().text + "\n";
  return text;
}

bool has(const std::string& text, const char* piece) { return text.find(piece) != std::string::npos; }

}  // namespace

TEST_CASE("hardware FLOPs are the model's and three kinds more", "[flops]") {
  for (const char* model : {"llama-3.2-1b", "mistral-7b-v0.1", "gemma-2-2b", "bert-base-uncased", "t5-small"})
    for (const char* recompute : {"none", "full"}) {
      INFO(model << " " << recompute);
      const FlopsReport flops = run(model, {{"seq", "512"}, {"recompute", recompute}}).flops.value();
      CHECK(flops.hardware == flops.model + flops.recompute + flops.masked_pairs + flops.scores_again);
    }
}

TEST_CASE("fused attention scores once more in backward: one product of six", "[flops]") {
  const FlopsReport flash = run("llama-3.2-1b", {{"seq", "2048"}, {"attention", "flash"}}).flops.value();
  CHECK(flash.scores_again * 6 == flash.attention);
  CHECK(flash.masked_pairs == Flops());
  // With a mask the efficient kernel computes the whole square: T^2 instead of w T - w^2 / 2, in seven products.
  const FlopsReport windowed = run("mistral-7b-v0.1", {{"seq", "8192"}}).flops.value();
  CHECK(windowed.scores_again * 6 == windowed.attention);
  const Count t = 8192, w = 4096, pairs = w * t - w * w / 2;
  CHECK(windowed.masked_pairs * (6 * pairs) == windowed.attention * (7 * (t * t - pairs)));
}

TEST_CASE("eager and math attention execute the full square and nothing twice", "[flops]") {
  for (const char* kernel : {"eager", "math"}) {
    INFO(kernel);
    const FlopsReport flops = run("llama-3.2-1b", {{"seq", "1024"}, {"attention", kernel}}).flops.value();
    CHECK(flops.scores_again == Flops());
    CHECK(flops.hardware == flops.model_full);
    CHECK(flops.masked_pairs == flops.attention);  // the other half of the square
  }
}

TEST_CASE("reasons name what is there", "[report]") {
  const std::string windowed = reasons(run("mistral-7b-v0.1", {{"seq", "8192"}}));
  CHECK(has(windowed, "masked pairs too"));
  CHECK(has(windowed, "scores again in attention's backward"));
  const std::string recurrent = reasons(run("mamba-2.8b", {{"seq", "4096"}}));
  CHECK_FALSE(has(recurrent, "attention"));
  CHECK(has(recurrent, "recurrences (+0.1 %)"));
  const std::string encoder = reasons(run("bert-base-uncased", {{"seq", "512"}}));
  CHECK(has(encoder, "every pair"));
  CHECK_FALSE(has(encoder, "causal"));
  CHECK(has(reasons(run("llama-3.2-1b", {{"seq", "512"}})), "causal"));
  const auto job = [](const std::string& model) {
    return flat(report::estimate_page(run(model, {{"seq", "512"}})).as_text(false));
  };
  CHECK(has(job("bert-base-uncased"), "counted every"));
  CHECK_FALSE(has(job("bert-base-uncased"), "counted causal"));
  for (const char* counting : {"counted causal", "counted every"}) CHECK_FALSE(has(job("mamba-2.8b"), counting));
  CHECK(has(job("llama-3.2-1b"), "counted causal"));
  // Dense Qwen3.5 shares its family's file with a mixture of experts.
  CHECK_FALSE(run("qwen3.5-27b-text", {{"seq", "64"}}).mixture_of_experts);
}

TEST_CASE("inference runs the forward pass alone, in every command", "[flops]") {
  const ModelSource model = built_in_model("llama-3-8b");
  const Device device = built_in_device("h100-sxm");
  const RunOptions options = options_of({{"mode", "infer"}, {"seq", "4096"}, {"batch", "1"}});
  const FlopsReport flops = estimate(model, &device, options).flops.value();

  const RooflineReport roofline = job_roofline(model, device, options);
  Flops products;
  for (const RooflineOperation& operation : roofline.step->operations) {
    CHECK(operation.pass == Pass::forward);
    if (is_matrix_product(operation.op)) products += operation.flops;
  }
  CHECK(products == flops.forward);

  // 10,000 tokens a second at 2 N and attention over 989.4 TFLOP/s: about a sixth.
  Observed observed;
  observed.tokens_per_second = 10'000;
  const UtilizationReport used = utilization(model, device, options, observed);
  CHECK(used.mfu == Approx(flops.forward_per_token * 10'000 / 989.4e12).epsilon(1e-9));
  CHECK(used.mfu == Approx(0.16).margin(0.01));
  REQUIRE_FALSE(used.others.empty());
  for (const OtherAnswer& one : used.others) CHECK(one.name != "palm");
  CHECK_THROWS_AS(utilization(model, device, options_of({{"mode", "infer"}, {"attention-flops", "palm"}}), observed),
                  Error);
  CHECK_THROWS_AS(tokens_for_budget(model, device, options, 1000), Error);
}
