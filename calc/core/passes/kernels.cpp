#include "core/passes/kernels.hpp"

#include <algorithm>

namespace llmcalc {
namespace {

// ATen/native/cuda/MultiTensorApply.cuh: a launch takes at most so many chunks, of so many elements each, of at most
// so many tensors (the smallest of its limits, for lists of five tensors; remembered, not read).
constexpr Count chunk_elements = 65536, chunks_per_launch = 320, tensors_per_launch = 30;

Count kernels_each(const Launch& l) {
  switch (l.op) {
    case Op::attention_backward: return 3;  // row sums of dO * O, the gradients, dQ from its accumulator
    case Op::embedding:                     // backward: zeros, then the rows that occur
    case Op::layer_norm:                    // of the input, and of weight and bias
    case Op::nll_loss:                      // zeros, then the labels
      return l.pass == Pass::backward ? 2 : 1;
    default: return 1;
  }
}

// How often an optimizer's step goes over its tensors: each foreach kernel writes one list.
Count passes_over(const OptimizerCost& cost, Bytes tensor) {
  return std::max<Count>(1, ceil_div(cost.foreach_written.value(), std::max<Count>(1, tensor.value())));
}

}  // namespace

Count kernels_of(const Launch& launch) { return checked::multiply(kernels_each(launch), launch.repeat); }

Count optimizer_kernels(const Model& model, const StepPlan& plan) {
  Count chunks = 0, tensors = 0, passes = 0, single = 0;
  const Parameters& parameters = parameters_of(model, plan);
  for (const Parameter& p : parameters.all()) {
    if (!p.trainable) continue;
    const Count n = parameters.tensors(p);
    const OptimizerCost cost = step_cost(p, plan);
    if (cost.written == Bytes(0)) continue;  // no optimizer
    const Count of_this = passes_over(cost, size_of(stepped_dtype(p, *plan.precision)) * elements(p.shape));
    passes = std::max(passes, of_this);
    tensors += n;
    chunks = checked::add(chunks, checked::multiply(ceil_div(elements(p.shape), chunk_elements), n));
    single = checked::add(single, checked::multiply(of_this, n));
  }
  if (plan.optimizer_step == OptimizerStep::single) return single;
  const Count launches = std::max(ceil_div(chunks, chunks_per_launch), ceil_div(tensors, tensors_per_launch));
  return plan.optimizer_step == OptimizerStep::fused ? launches : checked::multiply(passes, launches);
}

}  // namespace llmcalc
