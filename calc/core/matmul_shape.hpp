// How much of a device a matrix product of a given shape can keep busy: tiles, waves and rows that start off a multiple
// of 16 bytes.
#pragma once

#include <string_view>

#include "core/device.hpp"

namespace llmcalc {

struct MatmulShape {
  Count batch = 1, m = 0, n = 0, k = 0;
  Count row_alignment = 16;  // bytes
  Count element_size = 2;    // bytes of one operand's element
};

// Share of the rate that a product which fills the device evenly would reach; in (0, 1]. The kernel is the best of some
// tile sizes, each with the inner length split or not. A device without compute units in its profile, or that does
// not schedule tiles on them (CPUs, TPUs), only loses by alignment.
double shape_efficiency(const Device& device, std::string_view peak_key, const MatmulShape& shape);

}  // namespace llmcalc
