// Precision recipes: which dtype weights, gradients, master copies, optimizer states and matrix products have.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/dtype.hpp"

namespace llmcalc {

struct Precision {
  std::string_view name;
  std::string_view summary;
  DType weight;
  DType gradient;
  std::optional<DType> master;     // a separate copy the optimizer steps
  std::optional<DType> autocast;   // matrix products run in it under torch.autocast
  DType compute;                   // of matrix products: picks the device's peak ...
  bool tf32 = false;               // ... with float32 operands rounded to tf32 inside the kernel
  bool gradients_persist = false;  // gradients are a buffer of their own, kept between steps (Megatron's main_grad)

  // What the optimizer steps, and so what its states look like.
  DType stepped() const { return master.value_or(weight); }
  // The key of a device's peak: "bf16", "tf32", ...
  std::string_view peak_key() const;
};

const std::vector<Precision>& precisions();
const Precision* precision_named(std::string_view name);  // nullptr for an unknown name
std::vector<std::string> precision_names();

}  // namespace llmcalc
