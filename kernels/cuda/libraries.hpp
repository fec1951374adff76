// cuBLASLt and NVML, opened at run time.
#pragma once

#include <cublasLt.h>

#include <string>

namespace llmcalc::cuda {

// The functions used, by the prototypes of the header they were built with.
struct BlasLt {
  std::string why_not;  // empty: usable
  std::string version;
  decltype(&cublasLtCreate) create = nullptr;
  decltype(&cublasLtDestroy) destroy = nullptr;
  decltype(&cublasLtMatmulDescCreate) desc_create = nullptr;
  decltype(&cublasLtMatmulDescDestroy) desc_destroy = nullptr;
  decltype(&cublasLtMatmulDescSetAttribute) desc_set = nullptr;
  decltype(&cublasLtMatrixLayoutCreate) layout_create = nullptr;
  decltype(&cublasLtMatrixLayoutDestroy) layout_destroy = nullptr;
  decltype(&cublasLtMatrixLayoutSetAttribute) layout_set = nullptr;
  decltype(&cublasLtMatmulPreferenceCreate) preference_create = nullptr;
  decltype(&cublasLtMatmulPreferenceDestroy) preference_destroy = nullptr;
  decltype(&cublasLtMatmulPreferenceSetAttribute) preference_set = nullptr;
  decltype(&cublasLtMatmulAlgoGetHeuristic) heuristic = nullptr;
  decltype(&cublasLtMatmul) matmul = nullptr;
};
const BlasLt& blas_lt();

// What the management library tells about device 0; zeros and empty text where it is not there.
struct DeviceState {
  unsigned clock_mhz = 0, memory_clock_mhz = 0, temperature = 0, power_milliwatts = 0;
  unsigned link_generation = 0, link_lanes = 0, most_generation = 0, most_lanes = 0;  // PCI Express: now, and at most
  unsigned long long throttle_reasons = 0;                                            // nvmlClocksThrottleReason bits
};
DeviceState device_state();
std::string driver_version();

// Bits that mean the device is held below what it would run at (power, heat), not that it idles.
constexpr unsigned long long throttling = 0x4 | 0x8 | 0x20 | 0x40 | 0x80;

}  // namespace llmcalc::cuda
