// OpenBLAS, opened at run time: the program needs none to start, and says what it found.
#pragma once

#include <string>

#include "core/units.hpp"

namespace llmcalc::cpu {

struct OpenBlas {
  std::string why_not;  // empty: usable
  std::string version;  // library file, version and the kernel it chose
  // C (m, n) = A (m, k) x B (k, n), row by row, in the calling thread alone.
  void (*sgemm)(int layout, int trans_a, int trans_b, int m, int n, int k, float alpha, const float* a, int lda,
                const float* b, int ldb, float beta, float* c, int ldc) = nullptr;

  void matmul(Count m, Count n, Count k, const float* a, Count lda, const float* b, Count ldb, float* c,
              Count ldc) const;
};

// Opened once. Its own threads are switched off: ours are pinned, and two pools on the same processors collapse.
const OpenBlas& openblas();

}  // namespace llmcalc::cpu
