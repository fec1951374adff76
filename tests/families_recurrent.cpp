// State-space and hybrid families, BERT and T5: parameters with switches on and off, products of the recurrent layers
// by hand, layers repeated on the books.
#include <string>

#include "core/passes/memory.hpp"
#include "tests/catch.hpp"
#include "tests/support/estimates.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/table.hpp"

using Catch::Matchers::ContainsSubstring;
using namespace llmcalc;
using namespace llmcalc::test;

namespace {

// FLOPs of one token's forward pass, from an estimate of 3 tokens.
Count forward_per_token(const std::string& config) {
  const Report report = estimated(model_from_json(config), {{"batch", "1"}, {"seq", "3"}, {"precision", "bf16"}});
  REQUIRE(report.flops->backward == report.flops->forward * 2);
  return static_cast<Count>(report.flops->forward.value() / 3);
}

Bytes saved(const std::string& config, const std::string& seq) {
  const Report report = estimated(model_from_json(config), {{"batch", "2"}, {"seq", seq}, {"precision", "bf16"}});
  return *report.memory.saved_for_backward;
}

const std::string mamba = R"({"model_type": "mamba", "hidden_size": 8, "num_hidden_layers": 1, "vocab_size": 32,
    "state_size": 4, "expand": 2, "conv_kernel": 4, "time_step_rank": 2})";
const std::string mamba2 = R"({"model_type": "mamba2", "hidden_size": 8, "num_hidden_layers": 1, "vocab_size": 32,
    "num_heads": 4, "head_dim": 4, "n_groups": 2, "state_size": 4, "expand": 2, "conv_kernel": 4})";

struct Accounts {
  Flops flops;
  Bytes saved, peak;
};

Accounts traced(const Model& model, bool every_block, Recompute recompute) {
  std::vector<LeafSpec> leaves;
  for (const Parameter& p : model.parameters.all()) leaves.push_back({p.shape, DType::bfloat16, p.trainable});
  Trace t({}, std::move(leaves));
  t.trace_every_block = every_block;
  Job job;
  job.batch = 2;
  job.seq = 48;
  job.attention = AttentionKernel::eager;
  job.recompute = recompute;
  // All parameters are alive, however few of the layers are traced.
  for (const Parameter& p : model.parameters.all())
    t.ledger.allocate(Part::parameters, Bytes(2) * p.elements() * model.parameters.instances(p));
  std::uint64_t loss_begins = 0;
  Tensor loss = model.forward(t, job, loss_begins);
  t.backward(std::move(loss), loss_begins);
  Accounts accounts;
  for (const Launch& l : t.tape())
    if (is_matrix_product(l.op)) accounts.flops += executed_flops(l, AttentionCounting::full);
  for (const KeptRecord& kept : t.kept())
    if (kept.first) accounts.saved += kept.storage * kept.repeat;
  accounts.peak = peak_of(t.ledger).second;
  return accounts;
}

std::string refusal(const std::string& config) {
  return test::refusal([&] { model_from_json(config); });
}

}  // namespace

TEST_CASE("parameters and FLOPs of small variants are PyTorch's", "[architectures][recurrent]") {
  const auto compare = [](const Row& row, Comparison& comparison) {
    const ModelSource model = model_from_json(row.text("config"));
    compare_parameters(model.model->parameters, comparison);
    if (row.text("forward") == "-") return;
    const Report report = estimated(
        model,
        {{"batch", "2"}, {"seq", "24"}, {"precision", "bf16"}, {"attention", "eager"}, {"attention-flops", "full"}});
    comparison.equal("forward", report.flops->forward.value());
    comparison.equal("forward_backward", report.flops->model.value());
  };
  check_table({"parameter_variants.tsv", {"config"}, compare, 200});
}

TEST_CASE("products of a recurrent layer by hand", "[architectures][recurrent][flops]") {
  // 2 FLOPs for each of: in 8 x 32, convolution 16 x 4, x 16 x (2 + 4 + 4), dt 2 x 16, scan 2 products of a state of
  // 16 x 4, out 16 x 8, head 8 x 32.
  CHECK(forward_per_token(mamba) == 2 * (256 + 64 + 160 + 32 + 128 + 128 + 256));
  // In 8 x (16 + 32 + 4), convolution of 16 + 2 x 2 x 4 channels, the same scan, out and head.
  CHECK(forward_per_token(mamba2) == 2 * (416 + 128 + 128 + 128 + 256));
  // q, k, v 8 x 16, z 8 x 8, b and a 8 x 4, convolution 16 x 4, 3 products of a state of 2 x 4 x 4, out 8 x 8, MLP
  // 3 x 8 x 16, head 8 x 32.
  CHECK(forward_per_token(R"({"model_type": "qwen3_5_text", "hidden_size": 8, "num_hidden_layers": 1, "vocab_size": 32,
      "intermediate_size": 16, "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 16,
      "linear_num_key_heads": 1, "linear_num_value_heads": 2, "linear_key_head_dim": 4,
      "linear_value_head_dim": 4})") == 2 * (128 + 64 + 32 + 64 + 96 + 64 + 384 + 256));
  // Three projections 8 x 8, convolution 8 x 4, two gates of 2 blocks 4 x 4, no product in the recurrence, MLP
  // 3 x 8 x 16, head 8 x 32.
  CHECK(forward_per_token(R"({"model_type": "recurrent_gemma", "hidden_size": 8, "num_hidden_layers": 1,
      "vocab_size": 32, "num_attention_heads": 2, "intermediate_size": 32})") == 2 * (192 + 32 + 64 + 384 + 256));
}

TEST_CASE("a state-space model keeps in proportion to the sequence", "[architectures][recurrent][memory]") {
  for (const std::string& config : {mamba, mamba2}) {
    const Bytes one = saved(config, "256"), two = saved(config, "512"), three = saved(config, "768");
    CHECK(three - two == two - one);
    CHECK(two > one);
  }
}

TEST_CASE("recurrent layers repeated on the books are layers traced one by one", "[architectures][recurrent]") {
  const std::string configs[] = {
      R"({"model_type": "mamba", "hidden_size": 32, "num_hidden_layers": 9, "vocab_size": 64})",
      R"({"model_type": "jamba", "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 32,
          "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 64, "num_experts": 4})",
      R"({"model_type": "nemotron_h", "hidden_size": 32, "vocab_size": 64, "num_attention_heads": 4,
          "num_key_value_heads": 2, "head_dim": 8, "mamba_num_heads": 8, "mamba_head_dim": 8, "n_groups": 2,
          "ssm_state_size": 8, "intermediate_size": 64, "hybrid_override_pattern": "M-M*M-M*M-M*M-M*M-M*M-M*"})",
      R"({"model_type": "bert", "hidden_size": 32, "num_hidden_layers": 8, "num_attention_heads": 4,
          "vocab_size": 64})",
      R"({"model_type": "t5", "d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 8, "num_heads": 4,
          "vocab_size": 64})"};
  for (const std::string& config : configs)
    for (const Recompute recompute : {Recompute::none, Recompute::full}) {
      INFO(config << (recompute == Recompute::full ? " recomputed" : ""));
      const ModelSource source = model_from_json(config);
      const Accounts some = traced(*source.model, false, recompute), all = traced(*source.model, true, recompute);
      CHECK(some.flops == all.flops);
      CHECK(some.saved == all.saved);
      CHECK(some.peak == all.peak);
    }
}

TEST_CASE("inconsistent sizes of recurrent layers are refused", "[architectures][recurrent]") {
  CHECK_THAT(refusal(R"({"model_type": "mamba2", "hidden_size": 8, "num_hidden_layers": 1, "vocab_size": 32,
      "num_heads": 3, "head_dim": 4, "n_groups": 1})"),
             ContainsSubstring("num_heads"));
  CHECK_THAT(refusal(R"({"model_type": "jamba", "hidden_size": 8, "num_hidden_layers": 2, "vocab_size": 32,
      "num_attention_heads": 2, "num_key_value_heads": 2, "attn_layer_period": 4, "attn_layer_offset": 4})"),
             ContainsSubstring("attn_layer_offset"));
  CHECK_THAT(refusal(R"({"model_type": "nemotron_h", "hybrid_override_pattern": "M?"})"),
             ContainsSubstring("hybrid_override_pattern"));
  CHECK_THAT(refusal(R"({"model_type": "t5", "feed_forward_proj": "gated-nothing"})"),
             ContainsSubstring("feed_forward_proj"));
}
