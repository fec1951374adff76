#include "core/optimizer.hpp"

namespace llmcalc {
namespace {

Bytes sized(const Dims& shape, DType dtype) { return size_of(dtype) * elements(shape); }

OptimizerCost none(const Dims&, DType) { return {}; }

// p -= lr * g, in place.
OptimizerCost sgd(const Dims& shape, DType dtype) {
  const Bytes p = sized(shape, dtype);
  OptimizerCost cost;
  cost.read = cost.foreach_read = 2 * p;
  cost.written = cost.foreach_written = p;
  return cost;
}

// One momentum buffer. As foreach: scale the buffers, add the gradients, subtract from the parameters.
OptimizerCost sgd_momentum(const Dims& shape, DType dtype) {
  const Bytes p = sized(shape, dtype);
  OptimizerCost cost;
  cost.states = p;
  cost.read = 3 * p;
  cost.written = 2 * p;
  cost.foreach_read = 5 * p;
  cost.foreach_written = 3 * p;
  return cost;
}

// Two moments. The denominator sqrt(v) / c + eps is a temporary: for all tensors together as foreach, twice the tensor
// (the square root and its quotient) one at a time. Fused: reads p, g, m, v and writes p, m, v. As foreach
// (torch.optim.adam._multi_tensor_adam): lerp m (2 reads, 1 write); scale v (1, 1); addcmul v (2, 1); sqrt (1, 1);
// divide (1, 1); add (1, 1); addcdiv (3, 1).
OptimizerCost adam(const Dims& shape, DType dtype) {
  const Bytes p = sized(shape, dtype);
  OptimizerCost cost;
  cost.states = 2 * p;
  cost.foreach_temporaries = p;
  cost.single_temporaries = 2 * p;
  cost.read = 4 * p;
  cost.written = 3 * p;
  cost.foreach_read = 11 * p;
  cost.foreach_written = 7 * p;
  return cost;
}

// Adam with decoupled weight decay: one more pass over the parameters as foreach.
OptimizerCost adamw(const Dims& shape, DType dtype) {
  OptimizerCost cost = adam(shape, dtype);
  cost.foreach_read += sized(shape, dtype);
  cost.foreach_written += sized(shape, dtype);
  return cost;
}

}  // namespace

const std::vector<Optimizer>& optimizers() {
  static const std::vector<Optimizer> all{
      {"none", "no optimizer: parameters and gradients alone", none},
      {"sgd", "plain gradient descent, no state", sgd},
      {"sgd-momentum", "one momentum buffer", sgd_momentum},
      {"adam", "two moments", adam},
      {"adamw", "two moments, decoupled weight decay", adamw},
  };
  return all;
}

const Optimizer* optimizer_named(std::string_view name) {
  for (const Optimizer& optimizer : optimizers())
    if (optimizer.name == name) return &optimizer;
  return nullptr;
}

std::vector<std::string> optimizer_names() {
  std::vector<std::string> names;
  for (const Optimizer& optimizer : optimizers()) names.emplace_back(optimizer.name);
  return names;
}

}  // namespace llmcalc
