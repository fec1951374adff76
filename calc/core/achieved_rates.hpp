// What share of a stated peak the best programs reach: published measurements, by device or by rate class.
#pragma once

#include <string>
#include <string_view>

#include "core/device.hpp"

namespace llmcalc {

struct Achieved {
  double share = 0;    // of the dense peak, or of the memory bandwidth
  std::string source;  // who measured it, or why another device's figure stands in
};

// Large matrix products under the peak `key` ("bf16"). A device without a figure of its own takes its rate class's,
// then that of the middle of all published ones; `source` says so.
Achieved achieved_matmul(const Device& device, std::string_view key);
// A copy or another simple kernel over memory: bytes read and written, of the bandwidth.
Achieved achieved_copy(const Device& device);
// A fused attention kernel's products in the forward pass; `cudnn` is faster than flash on Hopper.
Achieved achieved_attention(const Device& device, bool cudnn);

}  // namespace llmcalc
