// torch.matmul and nn.Linear as einsums.
#pragma once

#include "core/einsum/equation.hpp"

namespace llmcalc::einsum {

struct Product {
  Equation equation;
  std::vector<Dims> shapes;  // of the operands
};

// By torch.matmul's rules: vectors get an axis that is taken out again, leading axes are broadcast. Throws
// Error(bad_input) naming the inner axis and both lengths, or the axes that do not broadcast.
Product matmul(const Dims& a, const Dims& b);

struct Linear {
  Product product;     // of the input and the weight as it is stored, (out, in)
  Dims weight_stored;  // (out, in)
};

// Y = X W^T: input features on the last axis of `input`. Throws Error(bad_input) naming the axis and both lengths.
Linear linear(Count in, Count out, const Dims& input);

}  // namespace llmcalc::einsum
