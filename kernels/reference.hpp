// What the kernels over memory should compute, in float64.
#pragma once

#include "kernels/workload.hpp"

namespace llmcalc {

// Element i of the output from inputs x and (where the kernel has two) y; `columns` is the length of a row.
double pass_reference(Kernel kernel, const float* x, const float* y, Count columns, Count i);

// x after `rounds` links of a chain.
double chain_reference(double x, Count rounds);

// The parameter (0), first (1) or second moment (2) after one first step from the state of kernel_constants.hpp.
double adamw_reference(double gradient, int which);

// A stream of `read` words in and `written` words out: each output is the sum of as many inputs as fit, or e^-|sum|;
// what is left over is read into a sum, or filled.
class MixedReference {
 public:
  MixedReference(const float* in, Count read, Count written, bool transcendental);

  double at(Count i) const;
  double sum() const;
  double sum_scale() const;  // what errors of the sum are relative to

 private:
  const float* in_;
  Count read_, written_, inputs_, used_, with_input_;
  bool transcendental_;
};

}  // namespace llmcalc
