#include "core/families/common.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/suggest.hpp"

namespace llmcalc {

void check_heads(Fields& f, const KeyNames& heads_key, const KeyNames& kv_key, Count hidden, Count heads,
                 Count kv_heads, HeadSize head_size) {
  if (f.has_stand_ins()) return;
  if (head_size != HeadSize::apart && hidden % heads != 0) {
    const std::string what = std::to_string(heads) + " heads do not divide the hidden size " + std::to_string(hidden);
    if (head_size == HeadSize::divides)
      f.error(heads_key, what);
    else
      f.warning(heads_key, what + ": each has " + std::to_string(hidden / heads) + " elements, as the library does it");
  }
  if (heads % kv_heads != 0)
    f.error(kv_key, std::to_string(kv_heads) + " key/value heads do not divide " + std::to_string(heads) + " heads");
}

Activation read_activation(Fields& f, const KeyNames& key, std::string_view assumed) {
  const std::string name = f.text(key, assumed);
  const std::vector<std::string>& known = activation_names();
  if (std::find(known.begin(), known.end(), name) != known.end()) return activation_named(name);
  f.error(key, "unknown activation function '" + name + "'", did_you_mean(name, known));
  return Activation::silu;
}

std::vector<Count> all_layers(Count count) {
  std::vector<Count> layers(static_cast<std::size_t>(count));
  std::iota(layers.begin(), layers.end(), 0);
  return layers;
}

TransformerSpec read_llama_like(Fields& f, std::string architecture, const LlamaDefaults& assumed) {
  TransformerSpec s;
  s.architecture = std::move(architecture);
  s.hidden = f.count("hidden_size");
  s.pattern.assign(static_cast<std::size_t>(f.layers("num_hidden_layers")), 0);
  s.vocabulary = f.count("vocab_size");
  s.max_seq = f.count("max_position_embeddings", assumed.max_seq);
  s.tied = f.flag("tie_word_embeddings", assumed.tied);
  LayerSpec layer;
  AttentionSpec& a = layer.attention;
  a.heads = f.count("num_attention_heads");
  a.kv_heads = f.optional_count("num_key_value_heads", assumed.kv_heads.value_or(a.heads)).value_or(a.heads);
  const std::optional<Count> head_size = f.optional_count("head_dim", assumed.head_size);
  a.qk_size = a.v_size = head_size.value_or(s.hidden / a.heads);
  a.dropout = f.optional_number("attention_dropout", assumed.attention_dropout).value_or(0);
  a.rotary = {RotaryStyle::halves, a.qk_size, false};
  if (assumed.inner > 0)
    layer.mlp.inner = f.count("intermediate_size", assumed.inner);
  else
    f.ignore("intermediate_size");
  layer.mlp.activation = read_activation(f, assumed.activation_key, assumed.activation);
  check_heads(f, "num_attention_heads", "num_key_value_heads", s.hidden, a.heads, a.kv_heads,
              head_size ? HeadSize::apart : assumed.sizing);
  check_rotary(f, "head_dim", a.qk_size, a.qk_size);
  s.rotary_sizes = {a.qk_size};
  f.ignore({"rms_norm_eps", "pretraining_tp", "rope_parameters", "rope_theta", "rope_scaling"});
  s.kinds.push_back(std::move(layer));
  return s;
}

void check_rotary(Fields& f, const KeyNames& key, Count size, Count head_size) {
  if (f.has_stand_ins()) return;
  if (head_size == 0) {
    f.error(key, "more heads than the hidden size has elements");
  } else if (!can_turn(size, head_size)) {
    f.warning(key,
              std::to_string(size) + " of the " + std::to_string(head_size) +
                  " elements of a head cannot turn in pairs; the library builds this model but cannot run it",
              "counted as it is, without the rotation");
  }
}

Count rotary_size(Fields& f, Count head_size, double assumed_factor) {
  double factor = assumed_factor;
  const Value* parameters = f.raw("rope_parameters");
  const Value* inside = parameters ? parameters->find("partial_rotary_factor") : nullptr;
  const bool absent = f.is_null("partial_rotary_factor") || !f.has("partial_rotary_factor");
  if (absent && inside)
    factor = nested_number(f, "rope_parameters", "partial_rotary_factor").value_or(assumed_factor);
  else
    factor = f.optional_number("partial_rotary_factor", assumed_factor).value_or(assumed_factor);
  if (!(factor >= 0 && factor <= 1)) {
    f.error("partial_rotary_factor", "must be from 0 to 1: that much of a head turns");
    factor = assumed_factor;
  }
  const Count size = static_cast<Count>(static_cast<double>(head_size) * factor);
  if (size != head_size) check_rotary(f, "partial_rotary_factor", size, head_size);
  return size;
}

void set_partial_rotary(TransformerSpec& s, Count size) {
  for (LayerSpec& layer : s.kinds) {
    layer.attention.rotary.size = size;
    layer.attention.rotary.concatenates = true;
  }
  s.rotary_sizes.assign(s.rotary_sizes.size(), size);
}

void set_norms(TransformerSpec& s, const NormSpec& norm) {
  for (LayerSpec& layer : s.kinds)
    for (NamedNorm* named : {&layer.before_attention, &layer.after_attention, &layer.before_mlp, &layer.after_mlp})
      named->norm = norm;
  s.final_norm.norm = norm;
}

void set_plain_mlp(MlpSpec& m, bool biases, const char* up_name, const char* down_name) {
  m.gated = false;
  m.up_bias = m.down_bias = biases;
  m.up_name = up_name;
  m.down_name = down_name;
}

std::optional<double> nested_number(Fields& f, const char* outer, const char* key) {
  const Value* map = f.raw(outer);
  if (map && !map->is_null() && map->kind != Value::Kind::map) f.error(outer, "must be a map of keys and values");
  const Value* value = map ? map->find(key) : nullptr;
  if (!value || value->is_null()) return std::nullopt;
  const bool number = value->kind == Value::Kind::integer || value->kind == Value::Kind::real;
  if (number && std::isfinite(value->real)) return value->real;
  f.error(outer, std::string(key) + " must be a finite number");
  return std::nullopt;
}

void read_prediction(Fields& f, TransformerSpec& s, const KeyNames& key, Count assumed, const LayerSpec& layer) {
  constexpr Count most_depths = 100;
  PredictionSpec& p = s.prediction;
  p.depths = !f.has(key) ? assumed : f.is_null(key) ? 0 : f.count_or_zero(key, assumed);
  if (p.depths > most_depths) {
    f.error(key, "more than " + std::to_string(most_depths) + " make no sense");
    p.depths = 0;
  }
  p.layers = {layer};
  for (NamedNorm* norm : {&p.of_embedding, &p.of_hidden, &p.last}) norm->norm = s.final_norm.norm;
}

namespace {

// Two kinds of layers: 0 as the first kind is, 1 the same with (or without) a window.
void split_by_window(TransformerSpec& s, std::optional<Count> window_of_second, const std::vector<bool>& second) {
  s.kinds.push_back(s.kinds.front());
  s.kinds.back().attention.window = window_of_second;
  for (std::size_t i = 0; i < s.pattern.size(); ++i) s.pattern[i] = second[i] ? 1 : 0;
}

std::vector<std::string> layer_types(Fields& f, std::size_t layers) {
  return read_kinds(f, "layer_types", layers, {"sliding_attention", "full_attention"});
}

}  // namespace

std::vector<std::string> read_kinds(Fields& f, const char* key, std::size_t layers,
                                    const std::vector<std::string>& known) {
  std::vector<std::string> kinds = f.texts(key);
  const auto unknown = std::find_if(kinds.begin(), kinds.end(), [&](const std::string& kind) {
    return std::find(known.begin(), known.end(), kind) == known.end();
  });
  if (unknown != kinds.end()) {
    f.error(key, "unknown kind of layer " + in_quotes(*unknown), "known are " + join(known));
  } else if (!kinds.empty() && kinds.size() != layers) {
    f.error(key, "names " + std::to_string(kinds.size()) + " layers, the model has " + std::to_string(layers));
  } else {
    return kinds;
  }
  return {};
}

void read_qwen_windows(Fields& f, TransformerSpec& s) {
  const std::optional<Count> given = f.optional_count("sliding_window", 4096);
  const Count first_windowed = f.count_or_zero("max_window_layers", 28);
  const std::optional<Count> window = f.flag("use_sliding_window", false) ? given : std::nullopt;
  const std::vector<std::string> types = layer_types(f, s.pattern.size());
  std::vector<bool> windowed(s.pattern.size());
  for (std::size_t i = 0; i < windowed.size(); ++i)
    windowed[i] = window && (types.empty() ? static_cast<Count>(i) >= first_windowed : types[i] == "sliding_attention");
  if (window) split_by_window(s, window, windowed);
}

void read_layer_types(Fields& f, TransformerSpec& s, Count period) {
  const std::vector<std::string> types = layer_types(f, s.pattern.size());
  std::vector<bool> full(s.pattern.size());
  for (std::size_t i = 0; i < full.size(); ++i)
    full[i] = types.empty() ? period > 0 && (static_cast<Count>(i) + 1) % period == 0 : types[i] == "full_attention";
  split_by_window(s, std::nullopt, full);
}

}  // namespace llmcalc
