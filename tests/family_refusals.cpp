// Each architecture refuses a configuration that contradicts itself, at the key that is wrong. Every row changes one
// key of a built-in profile, which without the change is read without a word.
#include <algorithm>
#include <optional>

#include "core/model_source.hpp"
#include "read/load.hpp"
#include "read/yaml.hpp"
#include "tests/catch.hpp"
#include "tests/support/refusal.hpp"

using namespace llmcalc;
using Catch::Matchers::ContainsSubstring;

namespace {

// What is wrong with the built-in model when `key` has this value, in YAML; "accepted" when nothing is.
std::string refusal(const std::string& model, const std::string& key, const std::string& value) {
  Diagnostics diagnostics;
  Document document = load_model_document(model, diagnostics);
  if (!key.empty()) {
    const Value changed = read_yaml(key + ": " + value + "\n", "changed");
    auto& map = document.root.map;
    const auto found = std::find_if(map.begin(), map.end(), [&](const Entry& e) { return e.key == key; });
    if (found == map.end()) {
      map.push_back(changed.map.front());
    } else {
      *found = changed.map.front();
    }
  }
  return test::refusal([&] {
    read_model(document.root, document.source, document.yaml, document.id, std::nullopt, diagnostics);
    diagnostics.throw_if_errors();
  });
}

struct Row {
  const char *model, *key, *value, *why;
};

}  // namespace

TEST_CASE("a configuration that contradicts itself is refused at its key") {
  const std::vector<Row> rows = {
      {"llama-3-8b", "hidden_act", "slu", "unknown activation function 'slu'"},
      {"llama-3-8b", "num_key_value_heads", "5", "num_key_value_heads"},
      {"llama-3-8b", "architecture", "lama", "unknown architecture 'lama'"},
      {"t5-small", "feed_forward_proj", "gated-slu", "unknown activation function 'slu'"},
      {"t5-small", "num_decoder_layers", "100001", "too many layers"},
      {"gpt-neo-125m", "attention_types", "[[[global, local], 5]]", "describes 10 layers, the model has 12"},
      {"gemma-2-2b", "layer_types", "[full_attention]", "names 1 layers, the model has 26"},
      {"qwen3-next-80b-a3b", "layer_types", "[full_attention]", "names 1 layers, the model has 48"},
      {"smollm3-3b", "no_rope_layers", "[1, 0]", "must name as many layers as the model has"},
      {"recurrentgemma-2b", "block_types", "[recurrent, atention]", "unknown block 'atention'"},
      {"mamba2-2.7b", "num_heads", "79", "num_heads x head_dim is 5056, expand x hidden_size 5120"},
      {"jamba-1.5-large", "attn_layer_offset", "8", "must be smaller than attn_layer_period"},
      {"jamba-1.5-large", "num_experts_per_tok", "17", "more than there are experts"},
      {"mixtral-8x7b", "num_experts_per_tok", "9", "a token cannot visit 9 of 8 experts"},
      {"qwen3-next-80b-a3b", "num_experts_per_tok", "513", "more than there are experts"},
      {"dbrx-132b", "ffn_config", "{moe_num_experts: 2, moe_top_k: 3}",
       "a token cannot visit more experts than there are"},
      {"deepseek-v3-671b", "num_experts_per_tok", "257", "a token cannot visit more experts than there are"},
      {"deepseek-v3-671b", "n_group", "7", "groups must divide the experts"},
      {"deepseek-v3-671b", "topk_group", "9", "groups must divide the experts, and topk_group be at most n_group"},
      {"deepseek-v3-671b", "mlp_layer_types", "[dense]", "must name as many layers as the model has"},
  };
  for (const Row& row : rows) {
    INFO(row.model << " " << row.key << ": " << row.value);
    CHECK(refusal(row.model, "", "") == "accepted");
    const std::string why = refusal(row.model, row.key, row.value);
    CHECK_THAT(why, ContainsSubstring(row.why));
    CHECK_THAT(why, ContainsSubstring("changed:1:") || ContainsSubstring("built-in"));  // a place, not only words
  }
}
