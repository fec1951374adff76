// Views: the same storage seen with another layout. No kernel runs; gradients go back through the inverse view.
// Negative axes count from the end. Shapes are checked by core/layout.hpp (std::invalid_argument).
#pragma once

#include "core/trace.hpp"

namespace llmcalc {

Tensor view(Trace& t, const Tensor& x, const Dims& shape);     // throws when the strides do not allow it
Tensor reshape(Trace& t, const Tensor& x, const Dims& shape);  // a view where possible, else a contiguous copy
Tensor transpose(Trace& t, const Tensor& x, int a, int b);
Tensor permute(Trace& t, const Tensor& x, const std::vector<int>& order);
Tensor expand(Trace& t, const Tensor& x, const Dims& shape);
Tensor unsqueeze(Trace& t, const Tensor& x, int axis);
Tensor squeeze(Trace& t, const Tensor& x, int axis);
Tensor slice(Trace& t, const Tensor& x, int axis, Count start, Count length, Count step = 1);
Tensor select(Trace& t, const Tensor& x, int axis, Count index);
// x.split(lengths, axis): one node with several outputs, whose gradients are concatenated.
Tensors split(Trace& t, const Tensor& x, const std::vector<Count>& lengths, int axis);
// chunk(n) of an axis that n divides.
Tensors chunk(Trace& t, const Tensor& x, Count n, int axis);

}  // namespace llmcalc
