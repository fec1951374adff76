// One optimizer step of a training job, traced: a micro-batch forward and backward, then the optimizer.
#pragma once

#include "core/model.hpp"
#include "core/optimizer.hpp"
#include "core/precision.hpp"
#include "core/trace.hpp"

namespace llmcalc {

struct StepPlan {
  Job job;
  const Precision* precision = nullptr;
  const Optimizer* optimizer = nullptr;
  OptimizerStep optimizer_step = OptimizerStep::foreach_;
  Count accumulate = 1;  // the micro-batch traced is one of so many; memory is that of the last
};

// Sizes of what a job holds all the time, on one device.
struct StateSizes {
  Bytes parameters, gradients, master_weights, optimizer_states, buffers;
};
StateSizes state_sizes(const Model& model, const StepPlan& plan);

struct TracedStep {
  Trace trace;          // one micro-batch and one optimizer step on its tape
  StateSizes states;
  Bytes inputs;
};
TracedStep trace_step(const Model& model, const StepPlan& plan);

}  // namespace llmcalc
