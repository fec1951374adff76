// Optimizers: what each keeps for a parameter, and what a step needs on top.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/dtype.hpp"
#include "core/layout.hpp"
#include "core/units.hpp"

namespace llmcalc {

enum class OptimizerStep : unsigned char { foreach_, fused, single };

// For one parameter tensor.
struct OptimizerCost {
  Bytes states;                 // on the device; per-tensor step counters stay on the host unless the step is fused
  Bytes foreach_temporaries;    // alive together with those of all other tensors
  Bytes single_temporaries;     // alive while this tensor alone is stepped
  Bytes read, written;          // one fused step
  Bytes foreach_read, foreach_written;  // the same step as a chain of foreach kernels
};

struct Optimizer {
  std::string_view name;
  std::string_view summary;
  // `dtype` is that of the tensor stepped (the master copy where there is one) and of its gradient.
  OptimizerCost (*cost)(const Dims& shape, DType dtype);
};

const std::vector<Optimizer>& optimizers();
const Optimizer* optimizer_named(std::string_view name);  // nullptr for an unknown name
std::vector<std::string> optimizer_names();

}  // namespace llmcalc
