#include "core/matmul_shape.hpp"

#include <algorithm>
#include <string>

namespace llmcalc {
namespace {

struct Tile {
  Count m, n;
};
// Output tiles that libraries have kernels for (NVIDIA's Matrix Multiplication Background guide lists them).
constexpr Tile tiles[] = {{256, 128}, {128, 256}, {128, 128}, {256, 64}, {64, 256}, {128, 64}, {64, 128}, {64, 64}};
constexpr Count splits[] = {1, 2, 4, 8, 16};
constexpr Count inner_step = 32;  // the inner length is filled up to a multiple of it

// What one unit reads from the second-level cache in a clock, in bytes (Jia et al. 2018, arXiv:1804.06826, for Volta;
// remembered, not read). A small tile reads more for each product than it can get.
constexpr double load_bytes_per_clock = 64;

// Rows that do not start at a multiple of 16 bytes go through narrower loads and older kernels: 107-116 TFLOP/s where
// the next aligned size reaches 156 (pytorch/pytorch #181718, RTX 4090, bf16, sizes around 2048).
constexpr Count full_alignment = 16;
constexpr double unaligned_share = 0.71;

// Clocks a unit needs for one inner step of a tile: computing, or loading what is computed on.
double clocks_per_inner(const Tile& tile, double flops_per_clock, Count element_size) {
  const double products = 2.0 * static_cast<double>(tile.m * tile.n) / flops_per_clock;
  const double loads = static_cast<double>((tile.m + tile.n) * element_size) / load_bytes_per_clock;
  return std::max(products, loads);
}

bool schedules_tiles(const Device& device) {
  return device.units && device.units->count > 0 && device.units->clock > Hertz(0) &&
         (device.compute_capability || device.units->rate_class.starts_with("CDNA"));
}

}  // namespace

double shape_efficiency(const Device& device, std::string_view peak_key, const MatmulShape& s) {
  const double aligned = s.row_alignment < full_alignment ? unaligned_share : 1;
  const auto peak = device.peak.find(std::string(peak_key));
  if (!schedules_tiles(device) || peak == device.peak.end() || s.m < 1 || s.n < 1 || s.k < 1) return aligned;
  const double units = static_cast<double>(device.units->count);
  const double flops_per_clock = peak->second.value() / (units * device.units->clock.value());
  const double work = 2.0 * static_cast<double>(s.batch) * static_cast<double>(s.m) * static_cast<double>(s.n) *
                      static_cast<double>(s.k);
  const double ideal_clocks = work / (units * flops_per_clock);
  double best = 0;
  for (const Tile& tile : tiles) {
    const double clocks = clocks_per_inner(tile, flops_per_clock, s.element_size);
    const Count blocks = checked::multiply(s.batch, checked::multiply(ceil_div(s.m, tile.m), ceil_div(s.n, tile.n)));
    for (const Count split : splits) {
      // Splitting the inner length makes more blocks where there are fewer than units.
      if (split > 1 && (blocks >= device.units->count || s.k < split * inner_step)) break;
      const Count waves = ceil_div(checked::multiply(blocks, split), device.units->count);
      const Count inner = ceil_div(ceil_div(s.k, split), inner_step) * inner_step;
      best = std::max(best, ideal_clocks / (static_cast<double>(waves) * static_cast<double>(inner) * clocks));
    }
  }
  return std::min(best, 1.0) * aligned;
}

}  // namespace llmcalc
