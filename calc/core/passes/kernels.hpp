// How many kernels a step launches.
#pragma once

#include "core/passes/step.hpp"

namespace llmcalc {

// Kernels behind one record on the tape, as PyTorch's CUDA backend launches them; `repeat` counts. The optimizer's
// record is one for all parameters: see optimizer_kernels.
Count kernels_of(const Launch& launch);

// Kernels of one optimizer step. `foreach` and `fused` walk all tensors in chunks, so many to a launch; `single`
// launches every pass for every tensor.
Count optimizer_kernels(const Model& model, const StepPlan& plan);

}  // namespace llmcalc
