// What an estimate leaves out is said where it matters, and nowhere else.
#include "core/passes/device_memory.hpp"
#include "tests/catch.hpp"
#include "tests/support/estimates.hpp"
#include "tests/support/jobs.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

bool says(const Report& report, const std::string& piece) {
  for (const std::string& line : report.scope)
    if (line.find(piece) != std::string::npos) return true;
  return false;
}

Report run(const std::string& model, const char* precision = "amp-bf16") {
  return estimated(built_in_model(model), {{"batch", "1"}, {"seq", "64"}, {"precision", precision}});
}

std::string llama_of(const std::string& layers) {
  return R"({"model_type": "llama", "hidden_size": 64, "intermediate_size": 128, "num_attention_heads": 4,
    "vocab_size": 100, "max_position_embeddings": 64, "num_hidden_layers": )" +
         layers + "}";
}

}  // namespace

TEST_CASE("experts that autocast leaves in float32 are named", "[scope]") {
  CHECK(says(run("mixtral-8x7b"), "_grouped_mm"));
  CHECK_FALSE(says(run("mixtral-8x7b", "bf16"), "_grouped_mm"));
  CHECK_FALSE(says(run("llama-3.2-1b"), "_grouped_mm"));
}

TEST_CASE("every approximate architecture says what its trace leaves out, and no other", "[scope]") {
  for (const Architecture& architecture : architectures()) {
    INFO(architecture.name);
    CHECK(architecture.left_out.empty() == (architecture.status != Status::approximate));
  }
  CHECK(says(run("deepseek-v4-flash"), "compressed long-range keys"));
  CHECK(says(run("gemma-4-26b-a4b-text"), "hidden_size_per_layer_input"));
  CHECK_FALSE(says(run("llama-3.2-1b"), "the trace"));
}

TEST_CASE("states that depend on shapes are not made up from the size alone", "[scope][memory]") {
  const ModelSource billion = built_in_model("one-billion");
  for (const char* optimizer : {"adafactor", "muon", "adamw-8bit", "paged-adamw-8bit"}) {
    INFO(optimizer);
    const Report report = estimated(billion, {{"optimizer", optimizer}, {"precision", "fp32"}});
    CHECK(says(report, "depend on the tensors' shapes"));
    CHECK_FALSE(report.rule_bytes_per_parameter);
    CHECK(report.memory.optimizer_states == Bytes());
    CHECK(report.memory.peak == Bytes(8 * report.parameters.total));  // weights and gradients, at least
  }
  const Report adamw = estimated(billion, {{"optimizer", "adamw"}, {"precision", "fp32"}});
  CHECK(adamw.rule_bytes_per_parameter == Approx(16));
  CHECK_FALSE(says(adamw, "depend on the tensors' shapes"));
}

TEST_CASE("bytes per parameter are those that the states really take", "[memory]") {
  // Llama 3.2 1B in float32: 8 bytes of weight and gradient, and the optimizer's.
  const auto each = [](const char* optimizer, const char* precision = "amp-bf16") {
    const Report report =
        estimated(built_in_model("llama-3.2-1b"),
                  {{"batch", "1"}, {"seq", "16"}, {"optimizer", optimizer}, {"precision", precision}});
    return report.rule_bytes_per_parameter.value();
  };
  CHECK(each("adamw") == Approx(16));
  CHECK(each("adamw", "bf16") == Approx(8));
  CHECK(each("sgd") == Approx(8));
  // Adafactor: a float32 for every row and column. 16 layers of q and o (2048, 2048), k and v (512, 2048), three MLP
  // matrices of 8192 x 2048, the table (128256, 2048), and 33 norms of 2048: 954,880 floats over 1,235,814,400.
  const double rows_and_columns = 16.0 * (2 * 4096 + 2 * 2560 + 3 * 10240) + 130304 + 33 * 2048;
  CHECK(each("adafactor") == Approx(8 + 4 * rows_and_columns / 1235814400).epsilon(1e-9));
  // Muon: one momentum for the layers' matrices, two for the table and the norms: 973,078,528 and 262,735,872.
  CHECK(each("muon") == Approx(8 + (4.0 * 973078528 + 8.0 * 262735872) / 1235814400).epsilon(1e-9));
  // Two bytes, and two float32 maxima for every 256; the norms (2048 elements) stay in float32.
  CHECK(each("adamw-8bit") == Approx(8 + (1235746816 * (2 + 8 / 256.0) + 67584 * 8.0) / 1235814400).epsilon(1e-9));
}

TEST_CASE("a model of a hundred thousand layers has an answer, without what would take too long", "[scope][fit]") {
  const Device device = built_in_device("h100-sxm");
  const Report deep = estimated(model_from_json(llama_of("100000")), {{"batch", "1"}, {"seq", "16"}}, &device);
  CHECK_FALSE(deep.memory.reserved);
  CHECK_FALSE(deep.memory.device_total);
  CHECK(says(deep, "allocator's pool"));
  CHECK(deep.fit);
  const Report usual = estimated(model_from_json(llama_of("1000")), {{"batch", "1"}, {"seq", "16"}}, &device);
  CHECK(usual.memory.reserved);
  CHECK_FALSE(says(usual, "the allocator's pool:"));
}
