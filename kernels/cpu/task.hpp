// One prepared workload of the CPU backend: where in the arenas its arrays lie, round by round.
#pragma once

#include <utility>
#include <vector>

#include "kernels/cpu/backend.hpp"

namespace llmcalc::cpu {

constexpr Count word = static_cast<Count>(sizeof(float));
constexpr Count line = 16;  // floats of a cache line
constexpr Count array_padding =
    272;  // floats between arrays: addresses a power of two apart would meet in one cache set

inline Count rounded(Count floats) { return ceil_div(floats, line) * line; }

struct CpuBackend::CpuTask : Task {
  CpuTask(Workload what, CpuBackend& owner) : Task(std::move(what)), backend(owner) {}
  ~CpuTask() override { backend.clean_up(*this); }

  CpuBackend& backend;
  // Streams: every thread has windows of its own in its slices. Products: windows lie in the arena as a whole.
  struct Part {
    Count elements = 0;           // of each array
    Count read = 0, written = 0;  // words of a mixed stream
  };
  std::vector<Part> parts;  // by thread
  Count in_arrays = 0, out_arrays = 0;
  Count array_stride = 0;                 // from one array of a window to the next, in floats
  Count out_offset = 0;                   // of what is written, behind what is read
  Count stride = 0;                       // from one window to the next; 0: no arrays
  Count windows = 1;                      // how many are used in turn
  Count b_offset = 0;                     // of B behind A
  Count grid_rows = 1, grid_columns = 1;  // threads over the rows and columns of C
  MatmulKernel matmul = nullptr;          // nullptr: OpenBLAS
  StreamKernel stream = nullptr;
  AttentionKernel attention = nullptr;
  std::vector<std::vector<AttentionPart>> attention_parts;  // by thread
  Count rounds = 0;                                         // of the peak loop
  Count next = 0;                                           // round that comes next
  std::vector<double> sums;                                 // what reading kernels found, by thread, a cache line apart

  static constexpr std::size_t sum_stride = 8;

  // One window for all threads, not one in each thread's slice.
  bool shared() const { return workload.kernel == Kernel::matmul || is_attention(workload.kernel); }
  Count last() const { return next > 0 ? next - 1 : 0; }
  Count window(Count round) const { return round % windows * stride; }
};

}  // namespace llmcalc::cpu
