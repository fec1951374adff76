// The CUDA backend and what it keeps for one workload.
#pragma once

#include <cuda_runtime_api.h>

#include <memory>
#include <string>
#include <vector>

#include "kernels/backend.hpp"
#include "kernels/cuda/device_memory.hpp"
#include "kernels/cuda/launch.hpp"
#include "kernels/cuda/product.hpp"

namespace llmcalc::cuda {

class CudaBackend : public Backend {
 public:
  CudaBackend();
  ~CudaBackend() override;

  std::vector<Availability> list() override;
  DeviceInfo info() override;
  std::string supports(const Workload& workload) override;
  std::unique_ptr<Task> prepare(const Workload& workload) override;
  Timing run(Task& task, Count repeats, Outputs before) override;
  Verification verify(Task& task) override;

 private:
  struct CudaTask;

  void lay_out(CudaTask& task) const;
  void enqueue(CudaTask& task, Count round);
  void enqueue_transfer(CudaTask& task);
  void enqueue_matmul(CudaTask& task, char* window);
  void poison(CudaTask& task);
  void choose_fastest(CudaTask& task);
  Timing run_graph(CudaTask& task, Count repeats);
  Timing run_waited(Count repeats);
  Timing run_transfer(CudaTask& task, Count repeats);
  Verification verify_matmul(const CudaTask& task) const;
  Verification verify_memory(const CudaTask& task) const;
  Verification verify_transfer(const CudaTask& task) const;

  int processors_ = 0;
  Bytes memory_, cache_;
  double capability_ = 0;
  std::string name_;
  cudaStream_t stream_ = nullptr, other_stream_ = nullptr;
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
  cublasLtHandle_t blas_ = nullptr;
};

struct CudaBackend::CudaTask : Task {
  using Task::Task;

  std::unique_ptr<DeviceMemory> memory, sums;
  std::unique_ptr<HostMemory> host, host_back;  // transfers
  std::unique_ptr<Product> product;
  std::size_t in_bytes = 0, out_offset = 0, out_bytes = 0;  // of one window
  std::size_t array = 0;                                    // bytes of one array of a stream, with padding
  std::size_t b_offset = 0, stride = 0;
  Count windows = 1, next = 0;
  Count read_words = 0, written_words = 0;  // of a mixed stream

  Count last() const { return next > 0 ? next - 1 : 0; }
  char* window(Count round) const { return memory->at(static_cast<std::size_t>(round % windows) * stride); }
};

}  // namespace llmcalc::cuda
