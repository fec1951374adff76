// The processor as a measured device. Always there.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kernels/backend.hpp"
#include "kernels/cpu/arena.hpp"
#include "kernels/cpu/kernels.hpp"
#include "kernels/cpu/machine.hpp"
#include "kernels/cpu/pool.hpp"

namespace llmcalc::cpu {

// A kernel beside those that are built in, under a name of its own, for tests of what the harness finds out.
struct ExtraKernel {
  std::string variant;
  MatmulKernel matmul = nullptr;
  AttentionKernel attention = nullptr;  // of either pass
};

class CpuBackend : public Backend {
 public:
  // `table`: which of kernel_tables(). `cache`: taken for the last-level cache's size where it is not 0.
  explicit CpuBackend(std::vector<ExtraKernel> extra = {}, std::size_t table = 0, Bytes cache = Bytes(0));

  std::vector<Availability> list() override;
  DeviceInfo info() override;
  std::string supports(const Workload& workload) override;
  std::unique_ptr<Task> prepare(const Workload& workload) override;
  Timing run(Task& task, Count repeats, Outputs before) override;
  Verification verify(Task& task) override;

 private:
  struct CpuTask;

  MatmulKernel own_matmul(const std::string& variant) const;
  AttentionKernel attention_kernel(const Workload& workload) const;
  StreamKernel stream_kernel(const Workload& workload) const;
  Count memory_limit() const;
  void run_stream(CpuTask& task, std::size_t thread, Count round) const;
  void run_matmul(const CpuTask& task, std::size_t thread, Count round) const;
  void run_attention(const CpuTask& task, std::size_t thread, Count round) const;
  void lay_out_attention(CpuTask& task) const;
  AttentionProblem attention_problem(const CpuTask& task, Count round) const;
  std::string best_matmul();
  void place(CpuTask& task);
  void poison(CpuTask& task);
  void clean_up(const CpuTask& task);
  Verification verify_streams(const CpuTask& task) const;
  Verification verify_mixed(const CpuTask& task) const;
  Verification verify_matmul(const CpuTask& task) const;
  Verification verify_attention(const CpuTask& task) const;

  Machine machine_;
  KernelTable kernels_;
  std::vector<ExtraKernel> extra_;
  std::unique_ptr<Pool> pool_;
  Arena arena_;
  double clock_ = 0, peak_ = 0;  // Hz, FLOP/s of all threads
  std::string best_matmul_;      // openblas or vectorised; found when it is first asked for
};

}  // namespace llmcalc::cpu
