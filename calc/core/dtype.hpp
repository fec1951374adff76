// Element types of tensors: how many bits one takes and how types combine.
#pragma once

#include <optional>
#include <string_view>

#include "core/units.hpp"

namespace llmcalc {

// clang-format off
enum class DType : unsigned char {
  float64, float32, bfloat16, float16,
  float8_e4m3fn, float8_e4m3fnuz, float8_e5m2, float8_e5m2fnuz, float8_e8m0fnu,
  int64, int32, int16, int8, uint64, uint8, boolean,
};
// clang-format on

// Bytes of one element. Every type a tensor of the trace can have takes whole bytes.
Bytes size_of(DType dtype);

bool is_floating_point(DType dtype);

// PyTorch's name: "bfloat16".
std::string_view name_of(DType dtype);

// By PyTorch's name or the short one: "bfloat16", "bf16". Nothing for an unknown name.
std::optional<DType> dtype_named(std::string_view name);

// The type of `a op b` for two tensors with dimensions (torch.promote_types).
DType promote(DType a, DType b);

}  // namespace llmcalc
