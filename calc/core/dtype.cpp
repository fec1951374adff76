#include "core/dtype.hpp"

#include <array>

namespace llmcalc {
namespace {

struct Row {
  DType dtype;
  std::string_view name, short_name;
  int bytes;
  bool floating;
};

// In the order of the enumeration.
constexpr std::array<Row, 16> table{{
    {DType::float64, "float64", "fp64", 8, true},
    {DType::float32, "float32", "fp32", 4, true},
    {DType::bfloat16, "bfloat16", "bf16", 2, true},
    {DType::float16, "float16", "fp16", 2, true},
    {DType::float8_e4m3fn, "float8_e4m3fn", "e4m3fn", 1, true},
    {DType::float8_e4m3fnuz, "float8_e4m3fnuz", "e4m3fnuz", 1, true},
    {DType::float8_e5m2, "float8_e5m2", "e5m2", 1, true},
    {DType::float8_e5m2fnuz, "float8_e5m2fnuz", "e5m2fnuz", 1, true},
    {DType::float8_e8m0fnu, "float8_e8m0fnu", "e8m0", 1, true},
    {DType::int64, "int64", "long", 8, false},
    {DType::int32, "int32", "int", 4, false},
    {DType::int16, "int16", "short", 2, false},
    {DType::int8, "int8", "i8", 1, false},
    {DType::uint64, "uint64", "u64", 8, false},
    {DType::uint8, "uint8", "u8", 1, false},
    {DType::boolean, "bool", "boolean", 1, false},
}};

// Other names PyTorch has for them (torch.half), and the ones of C.
struct Alias {
  std::string_view name;
  DType dtype;
};
constexpr std::array<Alias, 10> aliases{{{"double", DType::float64},
                                         {"float", DType::float32},
                                         {"half", DType::float16},
                                         {"e8m0fnu", DType::float8_e8m0fnu},
                                         {"i64", DType::int64},
                                         {"i32", DType::int32},
                                         {"i16", DType::int16},
                                         {"char", DType::int8},
                                         {"byte", DType::uint8},
                                         {"e4m3", DType::float8_e4m3fn}}};

constexpr const Row& row(DType dtype) { return table[static_cast<std::size_t>(dtype)]; }

}  // namespace

Bytes size_of(DType dtype) { return Bytes(row(dtype).bytes); }
bool is_floating_point(DType dtype) { return row(dtype).floating; }
std::string_view name_of(DType dtype) { return row(dtype).name; }

std::optional<DType> dtype_named(std::string_view name) {
  for (const Row& r : table)
    if (r.name == name || r.short_name == name) return r.dtype;
  for (const Alias& alias : aliases)
    if (alias.name == name) return alias.dtype;
  return std::nullopt;
}

DType promote(DType a, DType b) {
  if (a == b) return a;
  const bool floating_a = is_floating_point(a), floating_b = is_floating_point(b);
  if (floating_a != floating_b) return floating_a ? a : b;
  // Two different 16-bit floats have only float32 in common; otherwise the wider one wins.
  if (floating_a && size_of(a) == size_of(b)) return DType::float32;
  return size_of(a) > size_of(b) ? a : b;
}

}  // namespace llmcalc
