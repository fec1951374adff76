// Optimizers: what each keeps for a parameter, and what a step needs on top.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/dtype.hpp"
#include "core/layout.hpp"
#include "core/parameters.hpp"
#include "core/units.hpp"

namespace llmcalc {

// in_backward: a hook steps each parameter as soon as its gradient is there, and frees the gradient.
enum class OptimizerStep : unsigned char { foreach_, fused, single, in_backward };

// For one parameter tensor.
struct OptimizerCost {
  Bytes states;                         // on the device, without step counters
  Bytes paged;                          // of no device: states in managed memory, which the driver moves to the host
  Bytes counters;                       // scalars kept per tensor; on the host unless the step is fused
  Bytes foreach_temporaries;            // alive together with those of all other tensors
  Bytes foreach_one;                    // on top of those, while this tensor alone is visited
  bool alone = false;                   // is stepped one at a time even as foreach
  Bytes single_temporaries;             // alive while this tensor alone is stepped
  Bytes single_left;                    // of those, what a loop variable still holds while the next tensor is stepped
  Bytes read, written;                  // one fused step
  Bytes foreach_read, foreach_written;  // the same step as a chain of foreach kernels
};

struct Optimizer {
  std::string_view name;
  std::string_view summary;
  OptimizerCost (*rule)(const Dims& shape, DType dtype, Role role);
  bool has_fused = false;   // has a fused CUDA kernel
  bool own_kernel = false;  // is nothing but one kernel a tensor, in place: `--optimizer-step` changes nothing

  // `dtype` is that of the tensor stepped (the master copy where there is one) and of its gradient.
  OptimizerCost cost(const Dims& shape, DType dtype, Role role = Role::weight) const {
    return rule(shape, dtype, role);
  }
};

// Whether the bytes an element that the states take depend on the tensor's shape.
bool states_follow_shape(const Optimizer& optimizer, DType dtype);

const std::vector<Optimizer>& optimizers();
const Optimizer* optimizer_named(std::string_view name);  // nullptr for an unknown name
std::vector<std::string> optimizer_names();

}  // namespace llmcalc
