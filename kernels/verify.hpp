// Did a kernel compute what it should? In float64 on the host, and written so that NaN fails.
#pragma once

#include <functional>
#include <vector>

#include "kernels/backend.hpp"
#include "kernels/matrix.hpp"

namespace llmcalc {

// Relative limits for a result accumulated in float32 and stored in `dtype` (checklist of docs/measuring.md).
double error_limit(DType dtype);

// Freivalds' check: C x against A (B x) for a vector x of random signs, every row of C. A is (m, k), B (k, n), both
// without gaps, C (m, n) row by row; the error is relative to how large C x is expected to be. Every element of C must
// be finite.
Verification verify_product(Matrix a, Matrix b, const float* c, Count m, Count n, Count k, double limit);

// `elements` values against `expected(i)`: the first, the last and some hundreds in between; all must be finite. The
// error is relative to max(|expected|, scale).
Verification verify_elements(const float* values, Count elements, const std::function<double(Count)>& expected,
                             double scale, double limit);

// One number.
Verification verify_value(double value, double expected, double scale, double limit);

}  // namespace llmcalc
