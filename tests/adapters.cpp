// LoRA, QLoRA and frozen parts: trainable counts, sizes of the base, and that less is needed the less is trained.
#include "core/adapters.hpp"
#include "tests/catch.hpp"
#include "tests/support/estimates.hpp"
#include "tests/support/jobs.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/table.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

const ModelSource& llama_3_8b() {
  static const ModelSource model =
      model_from_json(R"({"model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336,
    "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256,
    "max_position_embeddings": 8192, "tie_word_embeddings": false})");
  return model;
}

Report llama(std::vector<GivenOption> options) {
  options.push_back({"batch", "1"});
  options.push_back({"seq", "2048"});
  return estimated(llama_3_8b(), options);
}

}  // namespace

TEST_CASE("trainable counts of LoRA are r (in + out) a linear", "[memory]") {
  CHECK(llama({{"lora", "r=16,targets=all-linear"}}).parameters.trainable == 41943040);
  CHECK(llama({{"lora", "r=16,targets=q,v"}}).parameters.trainable == 6815744);
  const ModelSource tinyllama =
      model_from_json(R"({"model_type": "llama", "hidden_size": 2048, "intermediate_size": 5632,
    "num_hidden_layers": 22, "num_attention_heads": 32, "num_key_value_heads": 4, "vocab_size": 32000,
    "tie_word_embeddings": false})");
  CHECK(estimated(tinyllama, {{"lora", "r=64"}, {"batch", "1"}, {"seq", "64"}}).parameters.trainable == 50462720);
}

TEST_CASE("DoRA trains one magnitude an output feature besides", "[memory]") {
  // Outputs of a layer's linears: 4096 + 1024 + 1024 + 4096, then 14336 twice and 4096: 43008, in 32 layers.
  CHECK(llama({{"dora", "r=16"}}).parameters.trainable == 41943040 + 32 * 43008);
  CHECK(llama({{"lora", "r=16,targets=q,v,dora"}}).parameters.trainable == 6815744 + 32 * (4096 + 1024));
  CHECK(llama({{"qlora", "r=16,dora"}}).parameters.trainable == 41943040 + 32 * 43008);
  // GPT-2 stores (in, out): c_attn gives 3 x 768 features, c_fc 3072.
  const ModelSource gpt2 = model_from_json(R"({"model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12,
    "n_positions": 1024, "vocab_size": 50257})");
  const auto trainable = [&](const char* option) {
    return estimated(gpt2, {{option, "r=8,targets=c_attn,c_fc"}, {"batch", "1"}, {"seq", "16"}}).parameters.trainable;
  };
  CHECK(trainable("dora") - trainable("lora") == 12 * (3 * 768 + 3072));
}

TEST_CASE("what adapters keep and their peaks are PEFT's", "[memory]") {
  const Value configs = read_json(reference_text("activation_configs.json"), "activation_configs.json");
  const auto compare = [&](const Row& row, Comparison& comparison) {
    const Value* config = configs.find(row.text("config"));
    REQUIRE(config != nullptr);
    const Report report = estimated(model_from(*config), {{row.text("adapter"), row.text("spec")},
                                                          {"precision", row.text("precision")},
                                                          {"attention", "eager"},
                                                          {"batch", row.text("batch")},
                                                          {"seq", row.text("seq")}});
    comparison.equal("trainable", report.parameters.trainable);
    comparison.equal("saved", report.memory.saved_for_backward.value().value());
    comparison.equal("autocast_weights", report.memory.autocast_weights.value_or(Bytes()).value());
    constexpr double tolerance = 0.0002;
    if (row.text("peak") != "-") {
      const double peak = row.number("peak");
      comparison.near("peak", report.memory.peak.as_double(), tolerance * peak);
    }
  };
  check_table({"adapters.tsv", {"config", "precision", "adapter", "spec", "batch", "seq"}, compare, 30});
}

TEST_CASE("a 4-bit base leaves embedding, head and norms alone", "[memory]") {
  // 6,979,321,856 elements in layers' linears; embedding and head 128256 x 4096 each, 65 norms of 4096, in bfloat16;
  // adapters in float32. 5.311 GiB as published.
  const Count linears = 6979321856, rest = 2 * 128256 * 4096 + 65 * 4096;
  const Count packed = linears / 2 + linears / 64 + 4 * (linears / 64 / 256);
  CHECK(llama({{"qlora", "r=16"}}).memory.parameters == Bytes(packed + 2 * rest + 4 * 41943040));
  CHECK(packed_4bit(64) == Bytes(32 + 1 + 4));
  CHECK(packed_4bit(65) == Bytes(33 + 2 + 4));
}

TEST_CASE("QLoRA needs less than LoRA, LoRA less than everything", "[memory]") {
  for (const char* precision : {"bf16", "amp-bf16", "fp32"}) {
    INFO(precision);
    const Bytes full = llama({{"precision", precision}}).memory.peak;
    const Bytes lora = llama({{"precision", precision}, {"lora", "r=16"}}).memory.peak;
    const Bytes qlora = llama({{"precision", precision}, {"qlora", "r=16"}}).memory.peak;
    CHECK(qlora < lora);
    CHECK(lora < full);
  }
}

TEST_CASE("a frozen linear keeps no input", "[memory]") {
  const Report all = llama({{"precision", "bf16"}}), frozen = llama({{"precision", "bf16"}, {"freeze", "layers"}});
  CHECK(frozen.parameters.trainable == 2 * 128256 * 4096 + 4096);
  CHECK(*frozen.memory.saved_for_backward < *all.memory.saved_for_backward);
  CHECK(frozen.flops->model < all.flops->model);
  CHECK(frozen.memory.gradients == Bytes(2 * frozen.parameters.trainable));
  // Nothing below the embedding asks for a gradient when that is frozen too: layers keep nothing.
  const Report head_only = llama({{"precision", "bf16"}, {"freeze", "layers,embedding"}});
  CHECK(*head_only.memory.saved_for_backward < *frozen.memory.saved_for_backward);
}

TEST_CASE("adapters: what a specification gets wrong is said, with the option it stood in", "[memory]") {
  const auto refused = [](const std::string& option, const std::string& text) {
    return refusal([&] { llama({{option, text}}); });
  };
  CHECK(refused("lora", "rank=8,targets=q_proj,k,dropout=0") == "accepted");
  struct Row {
    const char *option, *text, *why;
  };
  const Row rows[] = {
      {"lora", "r=0", "--lora: the rank must be a whole number of at least 1"},
      {"lora", "r=1.5", "--lora: the rank must be a whole number of at least 1"},
      {"lora", "rank=", "--lora: the rank must be a whole number of at least 1"},
      {"lora", "r=8,16", "--lora: the rank must be a whole number of at least 1"},
      {"lora", "r=8,dropout=x", "--lora: dropout must be at least 0 and below 1"},
      {"lora", "r=8,dropout=-0.1", "--lora: dropout must be at least 0 and below 1"},
      {"dora", "r=8,targets=q_proj,kk", "--dora: no linear of this model is called 'kk'\nhint: it has q_proj, k_proj"},
      {"qlora", "r=8,targets=lm_head", "--qlora: no linear of this model is called 'lm_head'"},
      {"qlora", "8", "--qlora: known are r, targets, dropout and dora, not '8'"},
      {"freeze", "positions", "--freeze: no parameter of this model is called 'positions'"},
  };
  for (const Row& row : rows) {
    INFO(row.option << " " << row.text);
    CHECK_THAT(refused(row.option, row.text), Catch::Matchers::ContainsSubstring(row.why));
  }
  // Router and experts: the one is no linear of LoRA, the others have no name of their own; each name is told once.
  const std::string mixtral =
      refusal([] { estimated(built_in_model("mixtral-8x7b"), {{"lora", "r=8,targets=gate"}}); });
  CHECK_THAT(mixtral, Catch::Matchers::ContainsSubstring("hint: it has q_proj, k_proj, v_proj and o_proj"));
}

TEST_CASE("adapters that make no sense are refused", "[memory]") {
  for (const char* text :
       {"r=0", "targets=q", "r=8,targets=nothing", "r=8,colour=red", "8", "r=8,dropout=2", "r=8,targets="}) {
    INFO(text);
    CHECK_THROWS_AS(llama({{"lora", text}}), Error);
  }
  CHECK_THROWS_AS(llama({{"freeze", "nothing"}}), Error);
  CHECK_THROWS_AS(llama({{"lora", "r=8"}, {"qlora", "r=8"}}), Error);
  CHECK_THROWS_AS(llama({{"dora", "r=8"}, {"qlora", "r=8"}}), Error);
}
