// Device memory that is given back at the end of a scope, and the runtime's errors as ours.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <string>

#include "core/diagnostics.hpp"

namespace llmcalc::cuda {

// Throws Error(not_available) saying what failed.
inline void require(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  const std::string reason = cudaGetErrorString(status);
  cudaGetLastError();  // an allocation that failed must not be found again by the next call
  throw Error(Exit::not_available, status == cudaErrorMemoryAllocation ? "not enough memory on the device"
                                                                       : std::string("cuda: ") + what + ": " + reason);
}

class DeviceMemory {
 public:
  DeviceMemory() = default;
  explicit DeviceMemory(std::size_t bytes) { require(cudaMalloc(&data_, bytes), "cudaMalloc"); }
  ~DeviceMemory() { cudaFree(data_); }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  char* at(std::size_t offset) const { return static_cast<char*>(data_) + offset; }

 private:
  void* data_ = nullptr;
};

// Host memory, page-locked or ordinary.
class HostMemory {
 public:
  HostMemory(std::size_t bytes, bool pinned);
  ~HostMemory();
  HostMemory(const HostMemory&) = delete;
  HostMemory& operator=(const HostMemory&) = delete;

  void* data() const { return data_; }

 private:
  void* data_ = nullptr;
  bool pinned_;
};

}  // namespace llmcalc::cuda
