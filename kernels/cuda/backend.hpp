// NVIDIA GPUs as measured devices. The runtime is linked statically; driver, cuBLASLt and NVML are opened at run time,
// so the program starts anywhere.
#pragma once

#include <memory>
#include <vector>

#include "kernels/backend.hpp"

namespace llmcalc::cuda {

// The devices, or one entry without a device that says why: no driver, driver too old, no device, cuBLAS missing.
std::vector<Availability> available();

// The first device. Throws Error(not_available).
std::unique_ptr<Backend> open();

}  // namespace llmcalc::cuda
