// One matrix product through cuBLASLt: descriptors, workspace and the algorithm chosen.
#pragma once

#include <cuda_runtime_api.h>

#include <memory>
#include <string>
#include <vector>

#include "kernels/cuda/device_memory.hpp"
#include "kernels/cuda/libraries.hpp"
#include "kernels/workload.hpp"

namespace llmcalc::cuda {

class Product {
 public:
  // Asks for the heuristic's candidates. Throws Error(not_available) when there is none for these sizes.
  Product(const Workload& workload, cublasLtHandle_t handle);
  ~Product();
  Product(const Product&) = delete;
  Product& operator=(const Product&) = delete;

  std::size_t candidates() const { return found_.size(); }
  void choose(std::size_t candidate) { chosen_ = candidate; }
  // C (m, n) = A (m, k) x B (k, n), A and B as the workload has them, C row by row. Enqueues only.
  void run(const void* a, const void* b, void* c, cudaStream_t stream) const;

 private:
  cublasLtHandle_t handle_;
  cublasLtMatmulDesc_t operation_ = nullptr;
  cublasLtMatrixLayout_t a_ = nullptr, b_ = nullptr, c_ = nullptr;
  std::vector<cublasLtMatmulHeuristicResult_t> found_;
  std::size_t chosen_ = 0;
  std::unique_ptr<DeviceMemory> workspace_;
};

}  // namespace llmcalc::cuda
