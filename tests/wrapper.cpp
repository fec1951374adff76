// Configurations of models around a language model: which head they have, and what their text_config may leave out.
// The expectations are what transformers 5.24 builds from the same keys.
#include "core/wrapper.hpp"
#include "core/model_source.hpp"
#include "read/json.hpp"
#include "tests/catch.hpp"
#include "tests/support/refusal.hpp"

using namespace llmcalc;
using Catch::Matchers::ContainsSubstring;

namespace {

const std::string sizes = R"("hidden_size": 64, "num_hidden_layers": 4, "num_attention_heads": 4, "head_dim": 16,
    "num_key_value_heads": 2, "intermediate_size": 128, "vocab_size": 512)";

// "-", "true" or "false" for the key inside and outside.
std::string config(const std::string& type, const std::string& outer, const std::string& inner,
                   const std::string& keys = sizes) {
  const auto tie = [](const std::string& value) {
    return value == "-" ? std::string() : ", \"tie_word_embeddings\": " + value;
  };
  return R"({"model_type": ")" + type + "\"" + tie(outer) + R"(, "vision_config": {"hidden_size": 32},
      "text_config": {)" +
         keys + tie(inner) + "}}";
}

ModelSource read(const std::string& text, const std::optional<std::string>& as_family = std::nullopt) {
  const Value root = read_json(text, "config.json");
  Diagnostics diagnostics;
  ModelSource model = read_model(root, "config.json", false, "x", as_family, diagnostics);
  CHECK(diagnostics.all().empty());
  return model;
}

bool tied(const std::string& type, const std::string& outer, const std::string& inner) {
  return read(config(type, outer, inner)).model->parameters.head_is_tied;
}

std::string refusal(const std::string& text) {
  return test::refusal([&] { read(text); });
}

}  // namespace

TEST_CASE("wrappers: which tie_word_embeddings decides") {
  for (const char* inner : {"-", "true", "false"}) {
    INFO(inner);
    for (const char* type : {"gemma3", "mistral3", "internvl"}) {
      INFO(type);
      CHECK(tied(type, "-", inner));
      CHECK(tied(type, "true", inner));
      CHECK_FALSE(tied(type, "false", inner));
    }
    for (const char* type : {"qwen3_5", "idefics3"}) {
      INFO(type);
      CHECK_FALSE(tied(type, "-", inner));
      CHECK(tied(type, "true", inner));
      CHECK_FALSE(tied(type, "false", inner));
    }
    const bool inside = std::string(inner) == "true";
    for (const char* outer : {"-", "true", "false"}) {
      CHECK(tied("llama4", outer, inner) == inside);
      CHECK(tied("llava", outer, inner) == (inside || std::string(outer) == "true"));
    }
  }
}

TEST_CASE("wrappers: sizes that text_config leaves out are the library's, and listed") {
  // As gemma-3-4b is published: without heads and vocabulary.
  const ModelSource gemma = read(config("gemma3", "-", "-", R"("model_type": "gemma3_text", "hidden_size": 2560,
      "intermediate_size": 10240, "num_hidden_layers": 34, "sliding_window": 1024)"));
  CHECK(gemma.architecture->name == "gemma3_text");
  CHECK(count_parameters(gemma.model->parameters).total == 3880263168);
  std::string assumed;
  for (const Fields::Assumed& a : gemma.assumed) assumed += a.key + "=" + a.value + " ";
  CHECK_THAT(assumed, ContainsSubstring("num_attention_heads=8 ") && ContainsSubstring("vocab_size=262208 ") &&
                          ContainsSubstring("tie_word_embeddings=true "));
  REQUIRE(gemma.reading.size() == 1);
  CHECK_THAT(gemma.reading[0], ContainsSubstring("the language model of 'gemma3' alone"));
}

TEST_CASE("wrappers: one that is not known is read as --as says, and named otherwise") {
  const std::string unknown = config("some_vl", "true", "-");
  CHECK_THAT(refusal(unknown), ContainsSubstring("unknown architecture 'some_vl'") &&
                                   ContainsSubstring("--as FAMILY reads its text_config"));
  const ModelSource model = read(unknown, "llama");
  CHECK(model.model->parameters.head_is_tied);
  CHECK(model.reading.size() == 2);
  CHECK_THAT(refusal(config("gemma3", "-", "-", R"("hidden_size": -1)")), ContainsSubstring("text_config.hidden_size"));
  CHECK_FALSE(language_model_in(read_json(R"({"model_type": "llama", "hidden_size": 64})", "x"), false).has_value());
}
