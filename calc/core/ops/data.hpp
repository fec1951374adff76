// Joining tensors and looking things up.
#pragma once

#include "core/trace.hpp"

namespace llmcalc {

// Concatenation along `axis`, always into contiguous memory. Under autocast the pieces take the widest dtype.
Tensor cat(Trace& t, const Tensors& pieces, int axis);

// Rows of `table` (V, H) by `ids` of any shape. Keeps the ids; the gradient is a dense (V, H) tensor.
Tensor embedding(Trace& t, const Tensor& ids, const Tensor& table);

// A tensor that depends on no parameter and needs no gradient (positions, masks), made by one kernel.
Tensor constant(Trace& t, DType dtype, const Dims& shape);

}  // namespace llmcalc
