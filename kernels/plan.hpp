// What is measured, in which order and how long: quick, usual or full, on a processor or a GPU.
#pragma once

#include <string>
#include <vector>

#include "kernels/sampler.hpp"
#include "kernels/workload.hpp"

namespace llmcalc {

// Tiny: every kernel once on a few KiB, to be watched by a tool that makes it slow; its rates mean nothing.
enum class Effort : unsigned char { tiny, quick, usual, full };

// Workloads that are sampled in turn, and how long they may take.
struct Group {
  std::vector<Workload> variants;
  Limits limits;
  double latest = 1;  // not begun after this share of the plan's time, so that the model's step gets its turn
};

struct Plan {
  std::vector<Group> groups;
  double seconds = 0;  // all of it may take so long; what comes too late is left out, and said so
  // Then what was fastest runs on and on for so long each: burst and sustained rates. 0: not.
  double sustained = 0;
};

// `step`: the operations of a model's step; those first that tell most about it for the time they take. `only`: names
// of workloads; empty: all. With `only`, a step's operations count under their own names.
Plan make_plan(const DeviceInfo& info, Effort effort, const std::vector<std::string>& only, std::vector<Workload> step);

// Names `only` knows.
std::vector<std::string> plannable_names();

}  // namespace llmcalc
