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
    if (found != map.end()) map.erase(found);
    map.insert(map.end(), changed.map.begin(), changed.map.end());
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
      {"glm-5", "mlp_layer_types", "[dense]", "names 1 layers, the model has"},
      {"glm-5", "mlp_layer_types", "[moe]", "unknown kind of layer 'moe'"},
      {"glm-5", "indexer_types", "[full]", "must name as many layers as the model has"},
      {"glm-5", "index_topk_pattern", "FSX", "a layer is full or shared, not 'X'"},
      {"gemma-2-2b", "layer_types", "[sliding]", "unknown kind of layer 'sliding'"},
      {"gemma-2-2b", "layer_types", "full_attention", "must be a list of names, not 'full_attention'"},
      {"gemma-2-2b", "layer_types", "[1]", "must be text, not 1"},
      {"qwen3-next-80b-a3b", "layer_types", "[mamba]", "unknown kind of layer 'mamba'"},
      {"deepseek-v4-flash", "layer_types", "[sliding_attention]", "names 1 layers, the model has"},
      {"deepseek-v4-flash", "layer_types", "[sliding_attention, full]", "layer 1 is of no known kind"},
      {"deepseek-v4-flash", "compress_ratios", "[0, 4, 5]", "layer 2 is of no known kind"},
      {"deepseek-v4-flash", "o_groups", "7", "groups must divide the rows of all heads"},
      {"nemotron-h-56b", "hybrid_override_pattern", "M*X", "unknown kind of layer 'X'"},
      {"nemotron-h-56b", "layers_block_type", "[mamba, atention]",
       "layers_block_type: unknown kind of layer 'atention'"},
      {"nemotron-h-56b", "hybrid_override_pattern", "ME\nn_routed_experts: 2\nnum_experts_per_tok: 3",
       "more than there are experts"},
      {"nemotron-h-56b", "hybrid_override_pattern", "ME\nn_routed_experts: 8\nn_group: 3",
       "n_group: must divide the experts"},
      {"nemotron-h-56b", "hybrid_override_pattern", "ME\nn_group: 2\ntopk_group: 3", "and hold topk_group"},
      {"mamba2-2.7b", "n_groups", "3", "3 groups do not divide 80 heads"},
      {"recurrentgemma-2b", "lru_width", "2561", "num_attention_heads does not divide it"},
      {"qwen3-next-80b-a3b", "linear_num_value_heads", "17", "linear_num_key_heads does not divide it"},
      {"ernie-4.5-21b-a3b", "moe_layer_end_index", "last", "must be a finite number, not 'last'"},
      // The library would go on and fail, run for hours, or take these for something else.
      {"gpt-neo-125m", "attention_types", "5", "describes 0 layers"},
      {"gpt-neo-125m", "attention_types", "[[[], 1000000000000000000]]", "must be pairs of a list of kinds"},
      {"gpt-neo-125m", "attention_types", "[[[global], 0]]", "must be pairs of a list of kinds"},
      {"gpt-neo-125m", "attention_types", "[[[global, lokal], 6]]", "a layer is local or global, not 'lokal'"},
      {"deepseek-v3-671b", "num_nextn_predict_layers", "2000000000", "more than 100 make no sense"},
      {"t5-small", "num_decoder_layers", "2000000000", "too many layers"},
      {"gemma-4-26b-a4b-text", "num_global_key_value_heads", "3", "3 key/value heads do not divide"},
      {"dbrx-132b", "attn_config", "5", "must be a map of keys and values"},
      {"dbrx-132b", "attn_config", "{kv_n_heads: two}", "kv_n_heads must be a finite number"},
      {"dbrx-132b", "attn_config", "{attn_pdrop: .inf}", "attn_pdrop must be a finite number"},
      {"dbrx-132b", "ffn_config", "{moe_top_k: 1.5}", "moe_top_k must be a whole number of at least 1"},
      {"dbrx-132b", "ffn_config", "{moe_top_k: 0}", "moe_top_k must be a whole number of at least 1"},
      {"dbrx-132b", "ffn_config", "{moe_top_k: 1e300}", "moe_top_k must be a whole number of at least 1"},
      {"phi-2", "partial_rotary_factor", "1e300", "must be from 0 to 1"},
      {"phi-2", "partial_rotary_factor", "-0.5", "must be from 0 to 1"},
      {"phi-2", "partial_rotary_factor", "null\nrope_parameters: {partial_rotary_factor: half}",
       "partial_rotary_factor must be a finite number"},
      {"pythia-1b", "rotary_pct", "25", "rotary_pct: must be from 0 to 1, not 25"},
      {"gpt2", "attn_pdrop", "-0.1", "attn_pdrop: must be from 0 to 1, not -0.1"},
      {"gpt2", "attn_pdrop", "10", "attn_pdrop: must be from 0 to 1, not 10"},
      // Forms of a family that are not known here.
      {"gpt2", "add_cross_attention", "true", "cross-attention is not known here"},
      {"gpt2", "reorder_and_upcast_attn", "true", "this form of attention is not known here"},
      {"bert-base-uncased", "is_decoder", "true", "BERT as a decoder is not known here"},
      {"gemma-2-2b", "use_bidirectional_attention", "true", "attention in both directions is not known here"},
  };
  for (const Row& row : rows) {
    INFO(row.model << " " << row.key << ": " << row.value);
    CHECK(refusal(row.model, "", "") == "accepted");
    const std::string why = refusal(row.model, row.key, row.value);
    CHECK_THAT(why, ContainsSubstring(row.why));
    CHECK_THAT(why, ContainsSubstring("changed:") || ContainsSubstring("built-in"));  // a place, not only words
  }
}
