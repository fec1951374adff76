// What a chain of operations does to a tensor: shape, strides, offset, and which storage it lies in after each step.
#pragma once

#include <string>
#include <vector>

#include "core/tensor_expression/expression.hpp"

namespace llmcalc::expression {

// A tensor, or a view of one, after a step.
struct TensorStep {
  std::string op;  // "x" for the first, then "view(2, 3)", "[:, ::2]", "chunk(3, -1)[1]"
  DType dtype = DType::float32;
  Layout layout = {};
  std::size_t storage = 0;  // index in TensorHistory::storage_bytes; 0 is that of the first tensor

  Count elements() const { return llmcalc::elements(layout.shape); }
  Int128 bytes() const { return static_cast<Int128>(elements()) * size_of(dtype).value(); }  // of its elements
  bool shares_storage() const { return storage == 0; }                                       // with the first tensor
};

struct TensorHistory {
  std::vector<TensorStep> steps;      // at least the first tensor
  std::vector<Int128> storage_bytes;  // of each distinct storage; 2^62 elements of 8 bytes pass 64 bits

  Int128 distinct_storage_bytes() const;
};

// The first tensor is contiguous. A chain that ends in several tensors (chunk, split, unbind) has one step for each.
// Throws Error(bad_input) where PyTorch raises an error, saying why and, where there is one, what would work.
TensorHistory evaluate(const Dims& shape, DType dtype, const Chain& chain);

// Names of all operations, for "did you mean".
std::vector<std::string> operation_names();

}  // namespace llmcalc::expression
