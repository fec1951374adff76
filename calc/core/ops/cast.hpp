// Copies: to another dtype, to contiguous memory.
#pragma once

#include "core/trace.hpp"

namespace llmcalc {

Tensor cast(Trace& t, const Tensor& x, DType dtype);  // x itself when it has that dtype; keeps the layout otherwise
Tensor copy(Trace& t, const Tensor& x);               // clone(memory_format=contiguous)
Tensor contiguous(Trace& t, const Tensor& x);         // x itself when it is contiguous

}  // namespace llmcalc
