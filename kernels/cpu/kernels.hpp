// The CPU's own kernels, in one table for each kind of vector unit; the best the processor has is chosen at run time.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "core/units.hpp"
#include "kernels/cpu/attention.hpp"
#include "kernels/matrix.hpp"

namespace llmcalc::cpu {

// Arrays of one thread's part. `in` are read, `out` written; adamw has p, m, v in out[0..2] and the gradient in in[0].
struct Streams {
  std::array<const float*, 3> in{};
  std::array<float*, 3> out{};
  Count elements = 0;  // of each array
  Count columns = 0;   // of a row, where rows matter
  Count rounds = 0;    // of a chain of multiply-adds on each element
};

// A stream of `read` words in and `written` words out: as many whole inputs per output as fit, and what is left over
// read or filled behind them.
struct MixedStream {
  const float* in = nullptr;
  float* out = nullptr;
  Count read = 0, written = 0;
  bool transcendental = false;
};

using StreamKernel = void (*)(const Streams&);

// C (m, n) = A (m, k) x B (k, n); C lies row by row, rows `ldc` apart.
using MatmulKernel = void (*)(Count m, Count n, Count k, Matrix a, Matrix b, float* c, Count ldc);

struct KernelTable {
  std::string name;           // portable, sse2, avx2, avx512, neon
  Count flops_per_cycle = 0;  // the most one core of this kind does in float32; 0: not known
  double (*read)(const float* in, Count elements) = nullptr;  // sum of it all
  StreamKernel write = nullptr, copy = nullptr, scale = nullptr, add = nullptr, triad = nullptr;
  // The same past the cache; nullptr where the processor has no such stores.
  StreamKernel write_past = nullptr, copy_past = nullptr, scale_past = nullptr, add_past = nullptr,
               triad_past = nullptr;
  StreamKernel chain = nullptr, chain_past = nullptr;  // of multiply-adds
  StreamKernel adamw = nullptr, softmax = nullptr, rms_norm = nullptr, gated_activation = nullptr;
  double (*mixed)(const MixedStream&) = nullptr;  // a sum over what is read and not stored
  MatmulKernel matmul = nullptr;                  // blocked and vectorised
  AttentionKernel attention = nullptr, attention_backward = nullptr;
  // `rounds` rounds of independent multiply-adds; returns how many FLOPs that was. `sink` keeps them alive.
  double (*peak)(Count rounds, float* sink) = nullptr;
};

// What this processor can run, best first; the last is plain C++.
const std::vector<KernelTable>& kernel_tables();

// Matrix products in rising complexity; the vectorised one is in the table.
void matmul_plain(Count m, Count n, Count k, Matrix a, Matrix b, float* c, Count ldc);
void matmul_blocked(Count m, Count n, Count k, Matrix a, Matrix b, float* c, Count ldc);

// memcpy of the C library.
void library_copy(const Streams& streams);

// Seconds of this thread's own time for `links` additions that wait for one another, one cycle each.
double dependent_chain(Count links);

}  // namespace llmcalc::cpu
