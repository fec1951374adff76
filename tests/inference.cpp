// Weights and the cache of keys and values.
#include "tests/catch.hpp"
#include "tests/support/estimates.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

Bytes cache(const std::string& config, const std::vector<GivenOption>& options) {
  std::vector<GivenOption> all = options;
  all.push_back({"mode", "infer"});
  return estimated(model_from_json(config), all).memory.kv_cache.value();
}

const std::string llama = R"({"model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336,
  "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 1000,
  "max_position_embeddings": 8192, "tie_word_embeddings": false})";
const std::string mistral = R"({"model_type": "mistral", "hidden_size": 4096, "intermediate_size": 14336,
  "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 1000,
  "max_position_embeddings": 32768, "sliding_window": 4096, "tie_word_embeddings": false})";

}  // namespace

TEST_CASE("a token takes two vectors of every kv head and layer", "[memory]") {
  // 2 x 32 layers x 8 heads x 128 x 2 B = 128 KiB.
  CHECK(cache(llama, {{"seq", "1"}, {"batch", "1"}}) == Bytes(128 * 1024));
  CHECK(cache(llama, {{"seq", "8192"}, {"batch", "4"}}) == Bytes(Count{4} * 8192 * 128 * 1024));
  CHECK(cache(llama, {{"seq", "10"}, {"batch", "1"}, {"kv-dtype", "fp8"}}) == Bytes(10 * 64 * 1024));
  CHECK(cache(llama, {{"seq", "10"}, {"batch", "1"}, {"kv-dtype", "int4"}}) == Bytes(10 * 32 * 1024));
}

TEST_CASE("a window bounds the cache", "[memory]") {
  CHECK(cache(mistral, {{"seq", "4096"}, {"batch", "1"}}) == cache(mistral, {{"seq", "32768"}, {"batch", "1"}}));
  CHECK(cache(mistral, {{"seq", "2048"}, {"batch", "1"}}) == Bytes(Count{2048} * 128 * 1024));
}

TEST_CASE("inference holds weights and cache and nothing to train", "[memory]") {
  const Report report = estimated(model_from_json(llama), {{"mode", "infer"}, {"seq", "100"}, {"batch", "1"}});
  CHECK(report.memory.gradients == Bytes(0));
  CHECK(report.memory.optimizer_states == Bytes(0));
  CHECK(report.memory.parameters == Bytes(2 * report.parameters.total));
  Bytes parts;
  for (const auto& [part, bytes] : report.memory.phases.front().parts) parts += bytes;
  CHECK(report.memory.peak == parts);
  CHECK(report.flops->model == report.flops->forward);
}

TEST_CASE("options of training are refused for inference, and the cache's for training", "[memory]") {
  CHECK_THROWS_AS(estimated(model_from_json(llama), {{"mode", "infer"}, {"optimizer", "adamw"}}), Error);
  CHECK_THROWS_AS(estimated(model_from_json(llama), {{"mode", "infer"}, {"kv-dtype", "fp3"}}), Error);
  CHECK_THROWS_AS(estimated(model_from_json(llama), {{"kv-dtype", "fp8"}}), Error);
}

TEST_CASE("a pass over a prompt needs what MemTracker sees of transformers' forward pass", "[memory]") {
  // torch 2.15, transformers 5.24, eager attention, 2 prompts of 160 tokens, no cache, logits_to_keep=1; bytes.
  const Value configs = read_json(reference_text("activation_configs.json"), "activation_configs.json");
  const struct {
    const char *config, *precision;
    Count peak;
  } cases[] = {{"llama_gqa/2", "bf16", 19502080},
               {"llama_gqa/4", "fp32", 58251264},
               {"qwen3_qknorm/2", "bf16", 23312640},
               {"opt/2", "fp32", 37513472}};
  for (const auto& [config, precision, peak] : cases) {
    INFO(config << " " << precision);
    const Value* found = configs.find(config);
    REQUIRE(found != nullptr);
    const std::vector<GivenOption> options{
        {"mode", "infer"}, {"batch", "2"}, {"seq", "160"}, {"attention", "eager"}, {"precision", precision}};
    const MemoryReport memory = estimated(model_from(*found), options).memory;
    const double without_cache = (memory.peak - memory.kv_cache.value()).as_double();
    CHECK(without_cache == Approx(static_cast<double>(peak)).epsilon(0.0002));
  }
}

TEST_CASE("adapters that are not merged cost weights and products of their own", "[memory]") {
  const auto infers = [](std::vector<GivenOption> options) {
    options.insert(options.end(), {{"mode", "infer"}, {"seq", "64"}, {"batch", "2"}});
    return estimated(model_from_json(llama), options);
  };
  const Report plain = infers({}), lora = infers({{"lora", "r=16"}}), packed = infers({{"qlora", "r=16"}});
  const Count adapters = 41943040;  // r (in + out) of 32 layers' seven linears
  CHECK(lora.memory.parameters == plain.memory.parameters + Bytes(2 * adapters));
  CHECK((lora.flops->forward - plain.flops->forward).value() == 2 * adapters * 2 * 64);
  CHECK(packed.flops->forward == lora.flops->forward);
  CHECK(packed.memory.peak < plain.memory.peak);
}
