#include "core/wrapper.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace llmcalc {
namespace {

// Which tie_word_embeddings decides whether the head is the embedding table.
enum class Tie { outer, inner, either };

// What transformers 5.24 does for each: found by building all combinations of the two keys.
struct Wrapper {
  std::string_view model_type, text_type;  // of the whole, and of a text_config that does not say
  Tie tie;
  bool tied;  // where nothing says it
};
constexpr std::array<Wrapper, 10> wrappers{{
    {"gemma3", "gemma3_text", Tie::outer, true},
    {"gemma4", "gemma4_text", Tie::outer, true},
    {"llama4", "llama4_text", Tie::inner, false},
    {"mistral3", "mistral", Tie::outer, true},
    {"qwen3_5", "qwen3_5_text", Tie::outer, false},
    {"qwen3_5_moe", "qwen3_5_moe_text", Tie::outer, false},
    {"internvl", "qwen2", Tie::outer, true},
    {"idefics3", "llama", Tie::outer, false},
    {"llava", "llama", Tie::either, false},
    {"kimi_k25", "deepseek_v3", Tie::outer, true},
}};

// Sizes a text_config may leave out, which a configuration of its own must have (the defaults of transformers 5.24).
struct Sizes {
  std::string_view text_type;
  Count hidden, layers, heads, vocabulary;
};
constexpr std::array<Sizes, 9> sizes{{
    {"gemma3_text", 2304, 26, 8, 262208},
    {"gemma4_text", 2304, 30, 8, 262144},
    {"llama4_text", 5120, 48, 40, 202048},
    {"mistral", 4096, 32, 32, 32000},
    {"qwen3_5_text", 4096, 32, 16, 248320},
    {"qwen3_5_moe_text", 2048, 40, 16, 248320},
    {"qwen2", 4096, 32, 32, 151936},
    {"llama", 4096, 32, 32, 32000},
    {"deepseek_v3", 7168, 61, 128, 129280},
}};

std::string text_of(const Value& map, std::string_view key) {
  const Value* value = map.find(key);
  return value && value->kind == Value::Kind::text ? value->text : std::string();
}

// The value of a true-or-false key; null is false, as in Python.
std::optional<bool> flag_of(const Value& map, std::string_view key) {
  const Value* value = map.find(key);
  if (!value) return std::nullopt;
  return value->kind == Value::Kind::boolean && value->boolean;
}

void set(Value& map, std::string_view key, Value value) {
  value.place = map.place;
  const auto found = std::find_if(map.map.begin(), map.map.end(), [&](const Entry& entry) { return entry.key == key; });
  if (found == map.map.end()) {
    map.map.push_back({std::string(key), std::move(value), map.place});
  } else {
    found->value = std::move(value);
  }
}

Value boolean(bool flag) {
  Value value;
  value.kind = Value::Kind::boolean;
  value.boolean = flag;
  value.text = flag ? "true" : "false";
  return value;
}

Value whole(Count number) {
  Value value;
  value.kind = Value::Kind::integer;
  value.integer = number;
  value.real = static_cast<double>(number);
  value.text = std::to_string(number);
  return value;
}

Value text(std::string_view words) {
  Value value;
  value.kind = Value::Kind::text;
  value.text = words;
  return value;
}

void set_tie(Wrapped& found, const Value& root, const Wrapper* wrapper) {
  constexpr std::string_view key = "tie_word_embeddings";
  const std::optional<bool> outer = flag_of(root, key), inner = flag_of(found.text, key);
  const Tie tie = wrapper ? wrapper->tie : Tie::outer;
  if (tie == Tie::inner) return;  // the language model's own reader knows what it assumes
  if (tie == Tie::either) {
    set(found.text, key, boolean(outer.value_or(false) || inner.value_or(false)));
  } else if (outer) {
    set(found.text, key, boolean(*outer));
  } else if (wrapper) {
    set(found.text, key, boolean(wrapper->tied));
    found.assumed.push_back({std::string(key), wrapper->tied ? "true" : "false"});
  }
}

void set_sizes(Wrapped& found, const std::string& text_type) {
  const auto row = std::find_if(sizes.begin(), sizes.end(), [&](const Sizes& s) { return s.text_type == text_type; });
  if (row == sizes.end()) return;
  const std::pair<std::string_view, Count> all[] = {{"hidden_size", row->hidden},
                                                    {"num_hidden_layers", row->layers},
                                                    {"num_attention_heads", row->heads},
                                                    {"vocab_size", row->vocabulary}};
  for (const auto& [key, assumed] : all) {
    if (found.text.find(key)) continue;
    set(found.text, key, whole(assumed));
    found.assumed.push_back({std::string(key), std::to_string(assumed)});
  }
}

}  // namespace

std::optional<Wrapped> language_model_in(const Value& root, bool as_family) {
  const Value* inside = root.find("text_config");
  if (!inside || inside->kind != Value::Kind::map) return std::nullopt;
  Wrapped found;
  found.wrapper = text_of(root, "model_type");
  const auto* wrapper =
      std::find_if(wrappers.begin(), wrappers.end(), [&](const Wrapper& w) { return w.model_type == found.wrapper; });
  const bool known = wrapper != wrappers.end();
  if (!known && !as_family) return std::nullopt;
  found.text = *inside;
  if (known && !found.text.find("model_type")) set(found.text, "model_type", text(wrapper->text_type));
  if (!as_family) set_sizes(found, text_of(found.text, "model_type"));
  set_tie(found, root, known ? wrapper : nullptr);
  return found;
}

}  // namespace llmcalc
