// What generation keeps from token to token: keys and values, and the states of recurrences.
#include "core/passes/inference.hpp"
#include "tests/catch.hpp"
#include "tests/support/estimates.hpp"
#include "tests/support/jobs.hpp"
#include "tests/support/table.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

Report inferred(const std::string& model, const char* seq, const char* device = nullptr) {
  const Device on = built_in_device(device ? device : "h100-sxm");
  return estimated(built_in_model(model), {{"mode", "infer"}, {"seq", seq}, {"batch", "1"}}, device ? &on : nullptr);
}

}  // namespace

TEST_CASE("caches hold what transformers' do", "[memory]") {
  const auto compare = [](const Row& row, Comparison& comparison) {
    const MemoryReport memory =
        estimated(model_from_json(row.text("config")),
                  {{"mode", "infer"}, {"batch", row.text("batch")}, {"seq", row.text("seq")}, {"precision", "bf16"}})
            .memory;
    comparison.equal("kv_cache", memory.kv_cache.value_or(Bytes()).value());
    comparison.equal("sequence_states", memory.sequence_states.value_or(Bytes()).value());
  };
  check_table({"caches.tsv", {"config", "batch", "seq"}, compare, 36});
}

TEST_CASE("RecurrentGemma's blocks keep their convolution's window and one float32 a channel", "[memory]") {
  // transformers 5.24 after 40 tokens: (2, 64, 4) in bfloat16 and (2, 64) in float32 for each of 4 recurrent blocks.
  const Report report =
      estimated(model_from_json(R"({"model_type": "recurrent_gemma", "hidden_size": 64, "intermediate_size": 128,
        "num_hidden_layers": 6, "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 100,
        "lru_width": 64, "conv1d_width": 4, "attention_window_size": 24})"),
                {{"mode", "infer"}, {"batch", "2"}, {"seq", "40"}, {"precision", "bf16"}});
  CHECK(report.memory.sequence_states == Bytes(4 * (2 * 64 * 4 * 2 + 2 * 64 * 4)));
}

TEST_CASE("built-in models of every kind keep what PyTorch keeps", "[memory]") {
  // T5: of 6 decoder layers the own and the encoder's keys and values, 8 heads x 64, 4096 tokens, 2 bytes.
  CHECK(inferred("t5-small", "4096").memory.kv_cache == Bytes(96 * 1024 * 1024));
  // GPT-Neo: transformers' cache does not know of its window: 2 x 12 layers x 768 x 2 bytes, 2048 tokens.
  CHECK(inferred("gpt-neo-125m", "2048").memory.kv_cache == Bytes(75'497'472));
  // Mamba 2.8B: 64 layers, 5120 channels, 4 inputs in bfloat16 and 16 states in float32.
  CHECK(inferred("mamba-2.8b", "4096").memory.sequence_states == Bytes(64 * 5120 * (4 * 2 + 16 * 4)));
  // An encoder keeps nothing, which is absent, not 0.
  CHECK_FALSE(inferred("bert-base-uncased", "512").memory.kv_cache);
  CHECK_FALSE(inferred("bert-base-uncased", "512").memory.sequence_states);
  CHECK_FALSE(inferred("mamba-2.8b", "512").memory.kv_cache);
}

TEST_CASE("where a search for the largest job ends is no limit", "[fit]") {
  for (const char* model : {"mamba-2.8b", "falcon-mamba-7b", "mamba2-2.7b", "bert-base-uncased"}) {
    INFO(model);
    const FitReport fit = inferred(model, "512", "h100-sxm").fit.value();
    CHECK(fit.max_batch.value_or(0) < Count{1} << 20);
    CHECK(fit.max_seq.value_or(0) < Count{1} << 31);
  }
  // A state of 1,966,080 x 12 bytes a sequence bounds the batch.
  CHECK(inferred("mamba-2.8b", "512", "h100-sxm").fit->max_batch.value_or(0) > 1);
}
