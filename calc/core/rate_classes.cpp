// The rates are the stated peaks divided by units and clock, each confirmed by the other devices of its class. Classes
// of one or two devices (A10G, L40, H20, GB110, Gaudi, XeHPC) prove only that their device's peaks belong together. A
// fused multiply-add is two operations.
#include "core/rate_classes.hpp"

#include <cstddef>
#include <iterator>

namespace llmcalc {
namespace {

constexpr std::string_view keys[] = {"bf16",        "fp16", "fp16_acc16",  "fp16_vector", "tf32", "fp32",
                                     "fp32_matrix", "fp64", "fp64_tensor", "fp64_matrix", "fp8",  "fp8_acc16",
                                     "fp6",         "fp4",  "int8",        "int8_dp4a"};

struct RateClass {
  std::string_view name;
  int per_clock[std::size(keys)];  // 0: no such path, or not known
};

// In the order of `keys`: acc, vec, mat, ten and dp4 belong to the format before them.
// clang-format off
constexpr RateClass rate_classes[] = {
  //                  bf16  fp16   acc  vec  tf32  f32  mat  f64  ten  mat    fp8   acc    fp6    fp4   int8  dp4
  // Pascal, Volta and Turing have no bf16. `_half`, `_geforce`: boards that accumulate in fp32 at half rate.
  {"GP100",        {     0,    0,    0, 256,    0, 128,   0,  64,   0,   0,     0,    0,     0,     0,     0,   0}},
  {"GV100",        {     0, 1024, 1024, 256,    0, 128,   0,  64,   0,   0,     0,    0,     0,     0,     0, 512}},
  {"TU10x_pro",    {     0, 1024, 1024, 256,    0, 128,   0,   4,   0,   0,     0,    0,     0,     0,  2048,   0}},
  {"TU10x_geforce",{     0,  512, 1024, 256,    0, 128,   0,   4,   0,   0,     0,    0,     0,     0,  2048,   0}},
  {"GA100",        {  2048, 2048, 2048,   0, 1024, 128,   0,  64, 128,   0,     0,    0,     0,     0,  4096,   0}},
  {"GA10x_pro",    {  1024, 1024, 1024,   0,  512, 256,   0,   4,   0,   0,     0,    0,     0,     0,  2048,   0}},
  {"GA10x_half",   {   512,  512, 1024,   0,  256, 256,   0,   4,   0,   0,     0,    0,     0,     0,  2048,   0}},
  {"A10G",         {   512,  512,  512,   0,  256, 256,   0,   4,   0,   0,     0,    0,     0,     0,  1024,   0}},
  {"GA10B",        {  2048, 2048,    0,   0,    0, 256,   0,   0,   0,   0,     0,    0,     0,     0,  4096,   0}},
  {"AD10x_pro",    {  1024, 1024, 1024,   0,  512, 256,   0,   4,   0,   0,  2048, 2048,     0,     0,  2048,   0}},
  {"AD10x_half",   {   512,  512, 1024,   0,  256, 256,   0,   4,   0,   0,  1024, 2048,     0,     0,  2048,   0}},
  {"L40",          {   512,  512,  512,   0,  256, 256,   0,   4,   0,   0,  1024,    0,     0,     0,  1024,   0}},
  {"GH100",        {  4096, 4096, 4096,   0, 2048, 256,   0, 128, 256,   0,  8192,    0,     0,     0,  8192,   0}},
  {"H20",          {  1024, 1024,    0,   0,  512, 256,   0,   0,   0,   0,  2048,    0,     0,     0,  2048,   0}},
  {"GB100",        {  8192, 8192,    0,   0, 4096, 256,   0, 128, 128,   0, 16384,    0, 16384, 32768, 16384,   0}},
  {"GB110",        {  8192, 8192,    0,   0, 4096, 256,   0,   4,   0,   0, 16384,    0, 16384, 49152,   512,   0}},
  {"GB20x_pro",    {  1024, 1024, 1024,   0,  512, 256,   0,   4,   0,   0,  2048, 2048,  2048,  4096,  2048,   0}},
  {"GB20x_half",   {   512,  512, 1024,   0,  256, 256,   0,   4,   0,   0,  1024, 2048,  1024,  4096,  2048,   0}},
  // AMD, per compute unit.
  {"CDNA1",        {   512, 1024,    0,   0,    0, 128, 256,  64,   0,   0,     0,    0,     0,     0,  1024,   0}},
  {"CDNA2",        {  1024, 1024,    0,   0,    0, 128, 256, 128,   0, 256,     0,    0,     0,     0,  1024,   0}},
  {"CDNA3",        {  2048, 2048,    0,   0, 1024, 256, 256, 128,   0, 256,  4096,    0,     0,     0,  4096,   0}},
  {"CDNA4",        {  4096, 4096,    0,   0,    0, 256, 256, 128,   0, 128,  8192,    0, 16384, 16384,  8192,   0}},
  {"RDNA3",        {   512,  512,    0,   0,    0, 256,   0,   0,   0,   0,     0,    0,     0,     0,   512,   0}},
  // Per matrix engine of 256 x 256 multiply-adds, per vector engine, per GPU core.
  {"Gaudi",        {131072,    0,    0,   0,    0,   0,   0,   0,   0,   0,     0,    0,     0,     0,     0,   0}},
  {"XeHPC",        {   512,    0,    0,   0,    0,   0,   0,   0,   0,   0,     0,    0,     0,     0,     0,   0}},
  {"AppleGPU",     {     0,  256,    0,   0,    0, 256,   0,   0,   0,   0,     0,    0,     0,     0,     0,   0}},
};
// clang-format on

const RateClass* find(std::string_view name) {
  for (const RateClass& entry : rate_classes) {
    if (entry.name == name) return &entry;
  }
  return nullptr;
}

}  // namespace

std::optional<int> operations_per_clock(std::string_view rate_class, std::string_view key) {
  const RateClass* entry = find(rate_class);
  if (entry == nullptr) return std::nullopt;
  for (std::size_t column = 0; column < std::size(keys); ++column) {
    if (keys[column] == key && entry->per_clock[column] != 0) return entry->per_clock[column];
  }
  return std::nullopt;
}

bool is_rate_class(std::string_view name) { return find(name) != nullptr; }

std::vector<std::string> rate_class_names() {
  std::vector<std::string> names;
  for (const RateClass& entry : rate_classes) names.emplace_back(entry.name);
  return names;
}

bool is_vector_rate(std::string_view key) {
  constexpr std::string_view vector_keys[] = {"fp64", "fp64_tensor", "fp32", "fp16_vector", "int8_dp4a"};
  for (std::string_view vector_key : vector_keys) {
    if (key == vector_key) return true;
  }
  return false;
}

}  // namespace llmcalc
