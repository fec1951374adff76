// Rotary position embedding: the tables, and the ways models write the rotation of q and k.
#pragma once

#include "core/trace.hpp"

namespace llmcalc {

enum class RotaryStyle : unsigned char {
  none,
  halves,           // x * cos + rotate_half(x) * sin: the llama family
  halves_split,     // the two halves apart, with tables of half the size: gpt-oss
  halves_float32,   // float32 tables, so in float32, and back: OLMo
  pairs,            // neighbours instead of halves; tables spread to pairs in every layer: GLM
  pairs_float32,    // the same with x and the tables in float32: Ernie
  pairs_cast,       // x in float32, tables made for pairs: Cohere
  pairs_by_token,   // before heads and tokens are swapped, tables spread for q and for k: GPT-J
  regrouped,        // neighbours turned, the result in halves: DeepSeek-V3
  complex_numbers,  // neighbours as complex numbers in float32: DeepSeek-V2, Llama 4
};

struct RotarySpec {
  RotaryStyle style = RotaryStyle::none;
  Count size = 0;             // how much of a head turns
  bool concatenates = false;  // the turned part and the rest are joined again, even where nothing is left
  bool own_tables = false;    // each layer makes its own, from frequencies of its own, rather than share the model's
};

struct RotaryTables {
  Tensor cos, sin;  // (1, T, size); complex numbers: cos holds both
};

// Tables for T positions; computed in float32, without gradient.
RotaryTables rotary_tables(Trace& t, RotaryStyle style, Count length, Count size, DType dtype);

// q and k turned in place, (B, heads, T, d) each.
void apply_rotary(Trace& t, const RotarySpec& spec, const RotaryTables& tables, Tensor& q, Tensor& k);

}  // namespace llmcalc
