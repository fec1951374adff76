// The distinct operations of one step: launches of one kind and shape are one operation that runs so many times.
#pragma once

#include <string>
#include <vector>

#include "core/device.hpp"
#include "core/trace.hpp"

namespace llmcalc {

struct StepOperation {
  Launch launch;      // one of them, with repeat 1
  std::string where;  // the module of the first: "layers.mlp.c_fc"
  Count times = 0;    // in one optimizer step on one device
};

// In the order of the tape. The micro-batch on the tape runs `accumulate` times, the optimizer once.
std::vector<StepOperation> distinct_operations(const Trace& trace, Count accumulate);

// Whether `measured` is this operation: the same arithmetic on the same sizes, bytes included.
bool is_measurement_of(const MeasuredWorkload& measured, const Launch& launch, bool tf32);

// Whether it is fused attention of this launch's shape. The FLOPs tell causal attention, windows and masks apart.
bool is_attention_of(const MeasuredWorkload& measured, const Launch& launch);

}  // namespace llmcalc
