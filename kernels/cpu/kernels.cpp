// The vector kernels for each unit a processor may have, and the choice among them.
#include "kernels/cpu/kernels.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/kernel_constants.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

// Loops of a constant, small number of rounds; without this -O2 leaves them loops and their arrays in memory.
#if defined(__clang__)
#define LLMCALC_UNROLL _Pragma("unroll")
#else
#define LLMCALC_UNROLL _Pragma("GCC unroll 16")
#endif

namespace llmcalc::cpu {

#if defined(__x86_64__)

// Two multiply-add units of 512 bits where the processor is a server's; of 256 bits; before them a multiplier and an
// adder of 128 bits (counted as one multiply-add a cycle).
constexpr Count avx512_flops = 64, avx2_flops = 32, sse2_flops = 8;

namespace avx512 {
#define LLMCALC_TARGET __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,avx2,fma")))
#define LLMCALC_BYTES 64
#define LLMCALC_PAST(to, v) _mm512_stream_ps(to, reinterpret_cast<const __m512&>(static_cast<const Vector&>(v)))
#define LLMCALC_FENCE() _mm_sfence()
#define LLMCALC_KEEP(v) __asm__ volatile("" : "+v"(v))
#define LLMCALC_ROWS 8
#define LLMCALC_VECTORS 3
#include "kernels/cpu/vector_kernels.inc"
#undef LLMCALC_KEEP
}  // namespace avx512

namespace avx2 {
#define LLMCALC_TARGET __attribute__((target("avx2,fma")))
#define LLMCALC_BYTES 32
#define LLMCALC_PAST(to, v) _mm256_stream_ps(to, reinterpret_cast<const __m256&>(static_cast<const Vector&>(v)))
#define LLMCALC_FENCE() _mm_sfence()
#define LLMCALC_KEEP(v) __asm__ volatile("" : "+x"(v))
#define LLMCALC_ROWS 6
#define LLMCALC_VECTORS 2
#include "kernels/cpu/vector_kernels.inc"
#undef LLMCALC_KEEP
}  // namespace avx2

namespace sse2 {
#define LLMCALC_TARGET
#define LLMCALC_BYTES 16
#define LLMCALC_PAST(to, v) _mm_stream_ps(to, reinterpret_cast<const __m128&>(static_cast<const Vector&>(v)))
#define LLMCALC_FENCE() _mm_sfence()
#define LLMCALC_KEEP(v) __asm__ volatile("" : "+x"(v))
#define LLMCALC_ROWS 4
#define LLMCALC_VECTORS 2
#include "kernels/cpu/vector_kernels.inc"
#undef LLMCALC_KEEP
}  // namespace sse2

#else

namespace portable {  // on aarch64 these are NEON's registers, which every such processor has
#define LLMCALC_TARGET
#define LLMCALC_BYTES 16
#if defined(__aarch64__)
#define LLMCALC_KEEP(v) __asm__ volatile("" : "+w"(v))
#else
#define LLMCALC_KEEP(v) __asm__ volatile("" : "+m"(v))
#endif
#define LLMCALC_ROWS 6
#define LLMCALC_VECTORS 4
#include "kernels/cpu/vector_kernels.inc"
#undef LLMCALC_KEEP
}  // namespace portable

#endif

const std::vector<KernelTable>& kernel_tables() {
  static const std::vector<KernelTable> tables = [] {
    std::vector<KernelTable> usable;
#if defined(__x86_64__)
    __builtin_cpu_init();
    const bool fma = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    if (fma && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
      usable.push_back(avx512::make_table("avx512", avx512_flops));
    if (fma) usable.push_back(avx2::make_table("avx2", avx2_flops));
    usable.push_back(sse2::make_table("sse2", sse2_flops));
#else
    usable.push_back(portable::make_table("portable", 0));
#endif
    return usable;
  }();
  return tables;
}

void matmul_plain(Count m, Count n, Count k, Matrix a, Matrix b, float* c, Count ldc) {
  for (Count i = 0; i < m; ++i) {
    for (Count j = 0; j < n; ++j) {
      float sum = 0;
      for (Count p = 0; p < k; ++p) sum += a.at(i, p) * b.at(p, j);
      c[i * ldc + j] = sum;
    }
  }
}

void matmul_blocked(Count m, Count n, Count k, Matrix a, Matrix b, float* c, Count ldc) {
  constexpr Count block = 64;  // three blocks of floats fit a first-level cache of 48 KiB, and nearly one of 32 KiB
  for (Count i = 0; i < m; ++i) std::fill(c + i * ldc, c + i * ldc + n, 0.0F);
  for (Count i0 = 0; i0 < m; i0 += block) {
    for (Count p0 = 0; p0 < k; p0 += block) {
      for (Count j0 = 0; j0 < n; j0 += block) {
        const Count i1 = std::min(m, i0 + block), p1 = std::min(k, p0 + block), j1 = std::min(n, j0 + block);
        for (Count i = i0; i < i1; ++i) {
          for (Count p = p0; p < p1; ++p) {
            const float x = a.at(i, p);
            for (Count j = j0; j < j1; ++j) c[i * ldc + j] += x * b.at(p, j);
          }
        }
      }
    }
  }
}

void library_copy(const Streams& s) {
  std::memcpy(s.out[0], s.in[0], static_cast<std::size_t>(s.elements) * sizeof(float));
}

}  // namespace llmcalc::cpu
