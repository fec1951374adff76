// OpenBLAS, opened at run time: the program needs none to start, and says what it found.
#pragma once

#include <string>

#include "kernels/matrix.hpp"

namespace llmcalc::cpu {

struct OpenBlas {
  std::string why_not;  // empty: usable
  std::string version;  // library file, version and the kernel it chose
  // In the calling thread alone.
  void (*sgemm)(int layout, int trans_a, int trans_b, int m, int n, int k, float alpha, const float* a, int lda,
                const float* b, int ldb, float beta, float* c, int ldc) = nullptr;

  // C (m, n) = A (m, k) x B (k, n); C lies row by row, rows `ldc` apart.
  void matmul(Count m, Count n, Count k, Matrix a, Matrix b, float* c, Count ldc) const;
};

// Opened once. Its own threads are switched off: ours are pinned, and two pools on the same processors collapse.
const OpenBlas& openblas();

}  // namespace llmcalc::cpu
