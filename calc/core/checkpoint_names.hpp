// What the tensors of published checkpoints are called, against the names of the count (transformers' modules).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/units.hpp"

namespace llmcalc {

enum class Finding : unsigned char;  // checkpoint_match.hpp

// Without what wraps the model: "model.language_model.layers.0.mlp.up_proj.weight" -> "layers.0.mlp.up_proj.weight".
std::string bare_name(std::string_view name);

// The same for all layers and experts: "layers.*.mlp.experts.*.w1.weight".
std::string without_numbers(std::string_view name);

// One way of storing a parameter: these tensors, which together have its elements. `*` stands for every expert.
struct StoredAs {
  std::vector<std::string> names;
  bool packed = false;  // several quantised values in each element
};

// The ways in which a parameter of that bare name may be stored, the likeliest first.
std::vector<StoredAs> safetensors_names(const std::string& bare);
std::vector<StoredAs> gguf_names(const std::string& bare);

// What a tensor is that the count does not have: buffer, scales, other_part or prediction, else unexpected.
Finding what_beside(std::string_view bare);

}  // namespace llmcalc
