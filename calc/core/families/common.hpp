// Reading what all families have, with the checks all of them need.
#pragma once

#include "core/fields.hpp"
#include "core/transformer/spec.hpp"

namespace llmcalc {

// How the size of a head follows from the hidden size.
enum class HeadSize : unsigned char {
  divides,  // heads that do not divide it are refused
  floors,   // the library takes the whole part: a warning
  apart,    // it does not
};

// Reports heads that do not divide the hidden size and kv heads that do not divide the heads.
void check_heads(Fields& f, const KeyNames& heads_key, const KeyNames& kv_key, Count hidden, Count heads,
                 Count kv_heads, HeadSize head_size);

// An activation by its configuration name; an unknown one is an error with the nearest names.
Activation read_activation(Fields& f, const KeyNames& key, std::string_view assumed);

// 0 .. count-1.
std::vector<Count> all_layers(Count count);

// What transformers assumes for an absent key, where families of the llama form differ.
struct LlamaDefaults {
  Count inner = 11008;  // 0: the family has no intermediate_size
  Count max_seq = 2048;
  std::optional<Count> kv_heads = {};   // nothing: as many as heads
  std::optional<Count> head_size = {};  // nothing: hidden / heads
  bool tied = false;
  const char* activation = "silu";
  const char* activation_key = "hidden_act";
  double attention_dropout = 0;
  HeadSize sizing = HeadSize::floors;
};

// hidden_size, num_hidden_layers, ... into a model of one kind of layer that is llama's but for its biases: none.
TransformerSpec read_llama_like(Fields& f, std::string architecture, const LlamaDefaults& assumed);

// Warns of a rotation the library could not run: it builds such a model all the same, so its tensors are counted, and
// the trace goes without the rotation (make_transformer).
void check_rotary(Fields& f, const KeyNames& key, Count size, Count head_size);

// How much of a head turns: partial_rotary_factor, there or in rope_parameters.
Count rotary_size(Fields& f, Count head_size, double assumed_factor);
// Makes all kinds of layers turn only `size` of a head, joined with the rest by a copy.
void set_partial_rotary(TransformerSpec& s, Count size);

// Gives every norm of the model (not those of q and k) this form.
void set_norms(TransformerSpec& s, const NormSpec& norm);
// An MLP of two projections instead of three.
void set_plain_mlp(MlpSpec& m, bool biases, const char* up_name, const char* down_name);
// The number under `key` inside the map `outer`; nothing where it is absent, null or wrong.
std::optional<double> nested_number(Fields& f, const char* outer, const char* key);

// The heads of multi-token prediction that `key` counts: DeepSeek's form, each with one layer like `layer`, norms like
// the last one. The configuration's default, `assumed`, is no assumption about the model without them.
void read_prediction(Fields& f, TransformerSpec& s, const KeyNames& key, Count assumed, const LayerSpec& layer);

// A kind for each layer, each one of `known`; empty when the key is absent, or after an error.
std::vector<std::string> read_kinds(Fields& f, const char* key, std::size_t layers,
                                    const std::vector<std::string>& known);

// sliding_window, use_sliding_window, max_window_layers and layer_types as Qwen has them.
void read_qwen_windows(Fields& f, TransformerSpec& s);

// Makes a second kind of layer, a copy of the first without its window, for the layers that layer_types calls full
// attention; without that key every `period`-th layer is one (0: none).
void read_layer_types(Fields& f, TransformerSpec& s, Count period);

}  // namespace llmcalc
