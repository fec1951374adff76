// One optimizer step of a training job, traced: a micro-batch forward and backward, then the optimizer.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "core/allocation_log.hpp"
#include "core/model.hpp"
#include "core/optimizer.hpp"
#include "core/precision.hpp"
#include "core/trace.hpp"

namespace llmcalc {

struct Adapted;

struct StepPlan {
  Job job;
  std::shared_ptr<const Adapted> adapted;  // what is trained, where it is not simply everything
  bool infers = false;                     // no gradients, no optimizer
  const Precision* precision = nullptr;
  const Optimizer* optimizer = nullptr;
  OptimizerStep optimizer_step = OptimizerStep::foreach_;
  Count accumulate = 1;              // the micro-batch traced is one of so many; memory is that of the last
  bool expandable_segments = false;  // of the caching allocator
};

// The parameters a plan runs with: the model's, or those with what is trained marked and adapters added.
const Parameters& parameters_of(const Model& model, const StepPlan& plan);

// How one tensor of a parameter is held and stepped: as the recipe says, but what is always float32 and what is stored
// in a type of its own.
DType weight_dtype(const Parameter& p, const Precision& precision);
Bytes weight_bytes(const Parameter& p, const Precision& precision);  // in 4 bits where it is quantised
DType gradient_dtype(const Parameter& p, const Precision& precision);
std::optional<DType> master_dtype(const Parameter& p, const Precision& precision);  // of the copy, where there is one
DType stepped_dtype(const Parameter& p, const Precision& precision);
OptimizerCost step_cost(const Parameter& p, const StepPlan& plan);

// Sizes of what a job holds all the time, on one device.
struct StateSizes {
  Bytes parameters, gradients, master_weights, optimizer_states, buffers;
};
StateSizes state_sizes(const Model& model, const StepPlan& plan);

struct TracedStep {
  Trace trace;  // one micro-batch and one optimizer step on its tape
  StateSizes states;
  Bytes inputs;
};
// With a log, every allocation of the step is written to it; `optimizer_begins`, where given, receives the number of
// events before the optimizer's.
TracedStep trace_step(const Model& model, const StepPlan& plan, AllocationLog* log = nullptr,
                      std::size_t* optimizer_begins = nullptr, std::vector<AllocatedRecord>* made = nullptr);

// What the optimizer's step needs for a moment, above all that is alive when it begins.
Bytes optimizer_temporaries(const Model& model, const StepPlan& plan);

// Calls `visit(bytes, copies)` for every tensor a replica holds all the time: weights and master
// copies; gradients that stay between steps; optimizer states.
void visit_weights(const Model& model, const StepPlan& plan, const std::function<void(Bytes, Count)>& visit);
void visit_gradients(const Model& model, const StepPlan& plan, const std::function<void(Bytes, Count)>& visit);
void visit_states(const Model& model, const StepPlan& plan, const std::function<void(Bytes, Count)>& visit);

}  // namespace llmcalc
