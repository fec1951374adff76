// Activation functions by the names configurations use.
#pragma once

#include <string>
#include <vector>

#include "core/trace.hpp"

namespace llmcalc {

enum class Activation : unsigned char {
  silu,
  gelu,
  gelu_new,
  gelu_fast,
  quick_gelu,
  gelu_bloom,
  relu,
  relu_squared,
  tanh,
  sigmoid,
  mish,
  none,
  xielu,  // has two parameters of its own
};

// Names of transformers' ACT2FN that are known here.
const std::vector<std::string>& activation_names();
// Throws std::out_of_range for an unknown name.
Activation activation_named(const std::string& name);

Tensor activate(Trace& t, const Tensor& x, Activation activation);

// xIELU with its parameters alpha_p and alpha_n of one element each.
Tensor xielu(Trace& t, const Tensor& x, const Tensor& alpha_p, const Tensor& alpha_n);

}  // namespace llmcalc
