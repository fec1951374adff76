#include "core/layer_runs.hpp"

#include <algorithm>

namespace llmcalc {
namespace {

// How often kinds[start, start + length) stands there in a row.
Count repetitions(const std::vector<int>& kinds, std::size_t start, std::size_t length) {
  Count n = 1;
  while (start + (static_cast<std::size_t>(n) + 1) * length <= kinds.size() &&
         std::equal(kinds.begin() + static_cast<std::ptrdiff_t>(start),
                    kinds.begin() + static_cast<std::ptrdiff_t>(start + length),
                    kinds.begin() + static_cast<std::ptrdiff_t>(start + static_cast<std::size_t>(n) * length)))
    ++n;
  return n;
}

}  // namespace

std::vector<LayerRun> layer_runs(const std::vector<int>& kinds) {
  constexpr std::size_t longest_pattern = 16;
  std::vector<LayerRun> runs;
  for (std::size_t start = 0; start < kinds.size();) {
    LayerRun best{1, 1};
    for (std::size_t length = 1; length <= longest_pattern && start + length <= kinds.size(); ++length) {
      const Count blocks = repetitions(kinds, start, length);
      const Count covered = blocks * static_cast<Count>(length);
      if (blocks > 1 && covered > best.blocks * best.length) best = {blocks, static_cast<Count>(length)};
    }
    runs.push_back(best);
    start += static_cast<std::size_t>(best.blocks * best.length);
  }
  return runs;
}

}  // namespace llmcalc
