// Rotary position embedding as the llama family writes it: x * cos + rotate_half(x) * sin.
#pragma once

#include "core/trace.hpp"

namespace llmcalc {

struct RotaryTables {
  Tensor cos, sin;  // (1, T, size)
};

// Tables for T positions in `dtype`; computed in float32, without gradient.
RotaryTables rotary_tables(Trace& t, Count length, Count size, DType dtype);

// x (B, heads, T, d) turned by tables of size d.
Tensor apply_rotary(Trace& t, const Tensor& x, const Tensor& cos, const Tensor& sin);

}  // namespace llmcalc
