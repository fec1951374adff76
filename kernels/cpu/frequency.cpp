// How fast the core really runs: additions that each wait for the one before, one cycle a link. /proc/cpuinfo shows the
// time stamp counter's rate on many virtual machines, which can be a third off.
#include <time.h>

#include "kernels/cpu/kernels.hpp"

namespace llmcalc::cpu {
namespace {

double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace

double dependent_chain(Count links) {
  unsigned long value = 1, step = 3;
  // In a register, and unknown to the compiler: some processors add a constant without taking a cycle for it.
  __asm__ volatile("" : "+r"(step));
  const double start = thread_seconds();
  constexpr Count unrolled = 16;
  for (Count i = 0; i < links; i += unrolled) {
    // The empty statements keep the compiler from adding several steps in one.
#define LLMCALC_LINK \
  value += step;     \
  __asm__ volatile("" : "+r"(value));
#define LLMCALC_FOUR LLMCALC_LINK LLMCALC_LINK LLMCALC_LINK LLMCALC_LINK
    LLMCALC_FOUR LLMCALC_FOUR LLMCALC_FOUR LLMCALC_FOUR
#undef LLMCALC_FOUR
#undef LLMCALC_LINK
  }
  return thread_seconds() - start;
}

}  // namespace llmcalc::cpu
