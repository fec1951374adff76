// Reading what all families have, with the checks all of them need.
#pragma once

#include "core/blocks/activation.hpp"
#include "core/fields.hpp"
#include "core/model.hpp"

namespace llmcalc {

// Reports heads that do not divide the hidden size (unless the head size stands apart) and kv heads that do not divide
// the heads.
void check_heads(Fields& f, const KeyNames& heads_key, const KeyNames& kv_key, Count hidden, Count heads, Count kv_heads,
                 bool head_size_stands_apart);

// An activation by its configuration name; an unknown one is an error with the nearest names.
Activation read_activation(Fields& f, const KeyNames& key, std::string_view assumed);

// 0 .. count-1.
std::vector<Count> all_layers(Count count);

}  // namespace llmcalc
