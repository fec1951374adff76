// Activation functions by the names configurations use.
#pragma once

#include <string>
#include <vector>

#include "core/trace.hpp"

namespace llmcalc {

enum class Activation : unsigned char { silu, gelu, gelu_new, relu, relu_squared, tanh };

// Names of transformers' ACT2FN that are known here.
const std::vector<std::string>& activation_names();
// Throws std::out_of_range for an unknown name.
Activation activation_named(const std::string& name);

Tensor activate(Trace& t, const Tensor& x, Activation activation);

}  // namespace llmcalc
