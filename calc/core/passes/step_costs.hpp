// Peaks and FLOPs of many variants of one job, with as few traces as that takes.
#pragma once

#include <deque>

#include "core/passes/step.hpp"

namespace llmcalc {

// Forward, loss and backward know of the optimizer only that its states are alive, so one trace serves all optimizers.
class StepCosts {
 public:
  // `step` is `plan` traced. `model` must outlive this.
  StepCosts(const Model& model, const StepPlan& plan, const TracedStep& step);

  Bytes peak(const StepPlan& plan);      // allocated, over the whole step
  Flops executed(const StepPlan& plan);  // of a micro-batch's matrix products; attention counted causal

 private:
  struct Traced {
    StepPlan plan;
    Bytes passes, left;  // peak of forward, loss and backward; alive after them. Both without the optimizer's states
    Flops executed;
  };
  const Traced& add(const StepPlan& plan, const TracedStep& step);
  const Traced& traced(const StepPlan& plan);

  const Model& model_;
  std::deque<Traced> traced_;
};

}  // namespace llmcalc
