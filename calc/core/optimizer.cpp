// The states are what torch.optim (2.15) and bitsandbytes allocate; temporaries and traffic follow their step functions
// line by line: `foreach` is _multi_tensor_*, `single` is _single_tensor_*, with default arguments.
#include "core/optimizer.hpp"

#include <algorithm>

namespace llmcalc {
namespace {

constexpr Count counter_bytes = 4;  // `step`, a float32 scalar

Bytes sized(const Dims& shape, DType dtype) { return size_of(dtype) * elements(shape); }

// What a step does, in multiples of the tensor: none of this depends on its shape.
struct Multiples {
  Count states = 0, counters = 0;
  Count foreach_temporaries = 0, single_temporaries = 0, single_left = 0;
  Count read = 0, written = 0, foreach_read = 0, foreach_written = 0;
};

OptimizerCost times(const Multiples& m, const Dims& shape, DType dtype) {
  const Bytes p = sized(shape, dtype);
  OptimizerCost cost;
  cost.states = p * m.states;
  cost.counters = Bytes(counter_bytes * m.counters);
  cost.foreach_temporaries = p * m.foreach_temporaries;
  cost.single_temporaries = p * m.single_temporaries;
  cost.single_left = p * m.single_left;
  cost.read = p * m.read;
  cost.written = p * m.written;
  cost.foreach_read = p * m.foreach_read;
  cost.foreach_written = p * m.foreach_written;
  return cost;
}

OptimizerCost none(const Dims&, DType, Role) { return {}; }

// p -= lr * g, in place.
OptimizerCost sgd(const Dims& shape, DType dtype, Role) { return times({0, 0, 0, 0, 0, 2, 1, 2, 1}, shape, dtype); }

// One momentum buffer. As foreach: scale the buffers, add the gradients, subtract from the parameters.
OptimizerCost sgd_momentum(const Dims& shape, DType dtype, Role) {
  return times({1, 0, 0, 0, 0, 3, 2, 5, 3}, shape, dtype);
}

// One at a time, gradient + momentum * buffer is a new tensor; as foreach it goes into the gradients.
OptimizerCost sgd_nesterov(const Dims& shape, DType dtype, Role) {
  return times({1, 0, 0, 1, 0, 3, 2, 7, 4}, shape, dtype);
}

// Two moments. The denominator sqrt(v) / c + eps is a temporary: for all tensors together as foreach, twice the tensor
// (the square root and its quotient) one at a time, where the loop's variable holds it until the next is ready. Fused:
// reads p, g, m, v and writes p, m, v. As foreach: lerp m (2 reads, 1 write); scale v (1, 1); addcmul v (2, 1); sqrt
// (1, 1); divide (1, 1); add (1, 1); addcdiv (3, 1).
OptimizerCost adam(const Dims& shape, DType dtype, Role) { return times({2, 1, 1, 2, 1, 4, 3, 11, 7}, shape, dtype); }

// Decoupled weight decay: one more pass over the parameters.
OptimizerCost adamw(const Dims& shape, DType dtype, Role) { return times({2, 1, 1, 2, 1, 4, 3, 12, 8}, shape, dtype); }

// The largest second moment so far is a state too.
OptimizerCost adamw_amsgrad(const Dims& shape, DType dtype, Role) {
  return times({3, 1, 1, 2, 1, 5, 4, 14, 9}, shape, dtype);
}

// Counters: step and the running product of the momentum schedule.
OptimizerCost nadam(const Dims& shape, DType dtype, Role) { return times({2, 2, 1, 2, 1, 4, 3, 14, 8}, shape, dtype); }

// One at a time, the update is a chain of products that all live in one expression.
OptimizerCost radam(const Dims& shape, DType dtype, Role) { return times({2, 1, 1, 5, 0, 4, 3, 13, 9}, shape, dtype); }

OptimizerCost adamax(const Dims& shape, DType dtype, Role) { return times({2, 1, 1, 1, 0, 4, 3, 10, 6}, shape, dtype); }

// As foreach, the gradient times its rate is a list beside the square roots.
OptimizerCost adagrad(const Dims& shape, DType dtype, Role) { return times({1, 1, 2, 1, 1, 3, 2, 8, 5}, shape, dtype); }

OptimizerCost adadelta(const Dims& shape, DType dtype, Role) {
  return times({2, 1, 2, 2, 1, 4, 3, 16, 11}, shape, dtype);
}

OptimizerCost rmsprop(const Dims& shape, DType dtype, Role) { return times({1, 1, 1, 1, 1, 3, 2, 8, 5}, shape, dtype); }

OptimizerCost rmsprop_momentum(const Dims& shape, DType dtype, Role) {
  return times({2, 1, 1, 1, 1, 4, 3, 11, 7}, shape, dtype);
}

OptimizerCost rmsprop_centered(const Dims& shape, DType dtype, Role) {
  return times({2, 1, 1, 1, 1, 4, 3, 12, 7}, shape, dtype);
}

// Averages the parameters; its three scalars (eta, mu, step) are counted as counters.
OptimizerCost asgd(const Dims& shape, DType dtype, Role) { return times({1, 3, 1, 0, 0, 3, 2, 8, 4}, shape, dtype); }

// The sign of every step is worked out tensor by tensor even as foreach: there a mask (1 byte an element) and the
// result of torch.where come on top for one tensor.
OptimizerCost rprop(const Dims& shape, DType dtype, Role) {
  OptimizerCost cost = times({2, 1, 1, 3, 0, 4, 3, 23, 13}, shape, dtype);
  cost.foreach_one = sized(shape, dtype) + Bytes(elements(shape));
  return cost;
}

// A matrix keeps the mean squares of its rows and of its columns, a vector those of its elements. The update is a
// temporary of the tensor's size, with the means of one tensor beside it.
OptimizerCost adafactor(const Dims& shape, DType dtype, Role) {
  if (shape.rank() < 2) return times({1, 1, 1, 1, 1, 3, 2, 8, 5}, shape, dtype);
  const Count n = elements(shape), last = shape[shape.rank() - 1], before_last = shape[shape.rank() - 2];
  if (n == 0) return {};
  const Bytes means = size_of(dtype) * (n / last + n / before_last);
  OptimizerCost cost = times({0, 1, 1, 1, 1, 3, 1, 12, 7}, shape, dtype);
  cost.states = means;
  cost.single_temporaries += means;
  return cost;
}

// Muon for the matrices of the layers; tables, the head and everything that is no matrix go to AdamW, as its authors
// advise (torch.optim.Muon takes matrices only). Five Newton-Schulz steps run in bfloat16: besides the update there are
// the iterate and its successor, and two square matrices of the shorter side. One tensor at a time: it has no foreach.
OptimizerCost muon(const Dims& shape, DType dtype, Role role) {
  const bool is_for_muon = shape.rank() == 2 && (role == Role::weight || role == Role::routed_expert);
  if (!is_for_muon) return adamw(shape, dtype, role);
  constexpr Count iterations = 5;
  const Bytes p = sized(shape, dtype), iterate = sized(shape, DType::bfloat16);
  const Count side = std::min(shape[0], shape[1]);
  const Bytes square = size_of(DType::bfloat16) * checked::multiply(side, side);
  OptimizerCost cost;
  cost.states = p;
  cost.single_temporaries = p + iterate * 2 + square * 2;
  // Two lerps, the cast, the norm, the division; then per iteration X X^T, its square and a X + B X; then decay and
  // update.
  cost.read = p * 7 + iterate * 3 + (iterate * 3 + square * 2) * iterations;
  cost.written = p * 4 + iterate * 2 + (iterate + square * 2) * iterations;
  cost.foreach_read = cost.read;
  cost.foreach_written = cost.written;
  cost.alone = true;
  return cost;
}

// Lion (Chen et al. 2023, arXiv:2302.06675): one momentum, and the sign of an interpolation as the update; one kernel.
OptimizerCost lion(const Dims& shape, DType dtype, Role) { return times({1, 0, 0, 0, 0, 3, 2, 3, 2}, shape, dtype); }

// bitsandbytes (optim/optimizer.py, Optimizer2State; since 0.45 blocks of 256, before of 2048): tensors of fewer than
// 4096 elements keep float32 moments; others one byte a moment, and a float32 maximum for every block of each. The two
// tables of 256 values that decode them are shared by all tensors and not counted.
constexpr Count smallest_quantised = 4096, block_of_8bit = 256;
// Paged moments are only those of tensors of at least so many elements.
constexpr Count smallest_paged = 100000;

OptimizerCost adamw_8bit(const Dims& shape, DType dtype, Role) {
  constexpr Count moments = 2;
  const Count n = elements(shape);
  const Bytes p = sized(shape, dtype);
  OptimizerCost cost;
  cost.states = n < smallest_quantised
                    ? size_of(DType::float32) * n * moments
                    : Bytes(n * moments) + size_of(DType::float32) * ceil_div(n, block_of_8bit) * moments;
  cost.read = cost.foreach_read = p * 2 + cost.states;
  cost.written = cost.foreach_written = p + cost.states;
  return cost;
}

// bitsandbytes' 32-bit moments are float32 whatever the parameters are.
OptimizerCost paged_adamw(const Dims& shape, DType dtype, Role) {
  constexpr Count moments = 2;
  const Count n = elements(shape);
  const Bytes p = sized(shape, dtype), states = size_of(DType::float32) * n * moments;
  OptimizerCost cost;
  (n < smallest_paged ? cost.states : cost.paged) = states;
  cost.read = cost.foreach_read = p * 2 + states;
  cost.written = cost.foreach_written = p + states;
  return cost;
}

// The moments lie in managed memory; the maxima do not.
OptimizerCost paged_adamw_8bit(const Dims& shape, DType dtype, Role role) {
  OptimizerCost cost = adamw_8bit(shape, dtype, role);
  const Count n = elements(shape);
  if (n < smallest_paged) return cost;
  cost.paged = Bytes(n) * 2;
  cost.states -= cost.paged;
  return cost;
}

}  // namespace

const std::vector<Optimizer>& optimizers() {
  static const std::vector<Optimizer> all{
      {"none", "no optimizer: parameters and gradients alone", none, true},
      {"sgd", "plain gradient descent, no state", sgd, true},
      {"sgd-momentum", "one momentum buffer", sgd_momentum, true},
      {"sgd-nesterov", "one momentum buffer, looked ahead", sgd_nesterov, true},
      {"adam", "two moments", adam, true},
      {"adamw", "two moments, decoupled weight decay", adamw, true},
      {"adamw-amsgrad", "AdamW with the largest second moment kept: three states", adamw_amsgrad, true},
      {"nadam", "Adam with Nesterov momentum", nadam},
      {"radam", "Adam with a rectified variance", radam},
      {"adamax", "Adam with the infinity norm", adamax},
      {"adagrad", "one sum of squares", adagrad},
      {"adadelta", "mean squares of gradients and of updates", adadelta},
      {"rmsprop", "one mean square", rmsprop},
      {"rmsprop-momentum", "a mean square and a momentum buffer", rmsprop_momentum},
      {"rmsprop-centered", "a mean square and a mean", rmsprop_centered},
      {"adafactor", "mean squares of rows and columns only", adafactor},
      {"asgd", "averaged gradient descent: one average", asgd},
      {"rprop", "step sizes and last gradients", rprop},
      {"muon", "one momentum for the layers' matrices; AdamW for tables, head and vectors", muon},
      {"lion", "one momentum, updates by sign", lion, false, true},
      {"adamw-8bit", "two moments of a byte each in blocks of 256 (bitsandbytes)", adamw_8bit, false, true},
      {"paged-adamw", "two float32 moments, large ones in memory that moves to the host (bitsandbytes)", paged_adamw,
       false, true},
      {"paged-adamw-8bit", "adamw-8bit with large moments in memory that moves to the host", paged_adamw_8bit, false,
       true},
  };
  return all;
}

bool states_follow_shape(const Optimizer& optimizer, DType dtype) {
  // A scalar, a long vector and a matrix: 8-bit states quantise from a size on, factored ones want two axes.
  constexpr Count side = 1024;
  const Bytes one = optimizer.cost(Dims{1}, dtype).states;
  return optimizer.cost(Dims{side * side}, dtype).states != one * (side * side) ||
         optimizer.cost(Dims{side, side}, dtype).states != one * (side * side);
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
