// Shape and cost of matmul, einsum, rearrange, reduce and repeat.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/dtype.hpp"
#include "core/einsum/contraction.hpp"
#include "core/einsum/rearrangement.hpp"
#include "report/json.hpp"
#include "report/terminal.hpp"

namespace llmcalc::report {

// Which side of its ridge a device has this operation on.
struct DeviceSide {
  std::string name;
  std::string peak_key;  // "bf16"
  FlopsPerSecond peak;
  BytesPerSecond bandwidth;

  FlopsPerByte ridge() const { return peak / bandwidth; }
};

// Everything the commands show. What does not apply is empty.
struct ProductReport {
  std::string title;  // "ij,jk->ik: (3, 4) × (4, 5) → (3, 5)"
  Dims shape;
  DType dtype = DType::bfloat16;
  std::optional<einsum::Contraction> contraction;  // of matmul and einsum
  std::string multiply_adds;                       // of a single product: "i · k · j = 3 · 5 · 4"
  Int128 terms = 0;                                // summed for each result of a single product (K)
  std::optional<Flops> elementwise;                // of reduce
  std::string elementwise_how;
  Int128 elements_in = 0, elements_out = 0;
  std::optional<bool> copies;  // of rearrange and repeat
  std::optional<Dims> stride;
  std::optional<Dims> weight_shape;  // of a linear layer
  std::vector<std::string> notes;
  std::optional<DeviceSide> device;

  bool moves() const { return !copies || *copies; }
  Int128 bytes_in() const { return moves() ? elements_in * size_of(dtype).value() : 0; }
  Int128 bytes_out() const { return moves() ? elements_out * size_of(dtype).value() : 0; }
  Flops flops() const;  // all of them
  std::optional<FlopsPerByte> intensity() const;
};

Json product_json(const ProductReport& report);
std::string product_text(const ProductReport& report, bool explain, bool markdown, Style style);

}  // namespace llmcalc::report
