// Where layers repeat: the order of layer kinds as runs of equal blocks, so that a trace can treat a run as one.
#pragma once

#include <vector>

#include "core/units.hpp"

namespace llmcalc {

struct LayerRun {
  Count blocks, length;  // `blocks` times the same `length` layers
};

// Covers `kinds` from left to right. A pattern like (local x5, global) x 8 becomes one run of 8 blocks of 6.
std::vector<LayerRun> layer_runs(const std::vector<int>& kinds);

}  // namespace llmcalc
