#include "kernels/verify.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/data.hpp"

namespace llmcalc {
namespace {

constexpr Count most_checked = 1009;  // a prime: strides over rows of even length meet every column

double sign_of(Count j) { return (scrambled(static_cast<std::uint32_t>(j) + 17U) & 1U) != 0 ? 1.0 : -1.0; }

double root_mean_square(const float* values, Count count) {
  double sum = 0;
  for (Count i = 0; i < count; ++i) sum += static_cast<double>(values[i]) * static_cast<double>(values[i]);
  return std::sqrt(sum / static_cast<double>(std::max<Count>(count, 1)));
}

Verification failed(std::string problem, double limit) {
  Verification result;
  result.error = std::nan("");
  result.limit = limit;
  result.problem = std::move(problem);
  return result;
}

void judge(Verification& result) { result.passed = result.error <= result.limit; }

// Matrix (rows, length of x) times x, in the order it lies in.
std::vector<double> times(const Matrix& matrix, const std::vector<double>& x, Count rows) {
  const Count columns = static_cast<Count>(x.size());
  std::vector<double> y(static_cast<std::size_t>(rows));
  const bool by_columns = matrix.column > matrix.row;
  for (Count outer = 0; outer < (by_columns ? columns : rows); ++outer) {
    for (Count inner = 0; inner < (by_columns ? rows : columns); ++inner) {
      const Count i = by_columns ? inner : outer, j = by_columns ? outer : inner;
      y[static_cast<std::size_t>(i)] += static_cast<double>(matrix.at(i, j)) * x[static_cast<std::size_t>(j)];
    }
  }
  return y;
}

// max(a, b) that keeps a NaN once there is one.
double worse(double a, double b) { return std::isnan(a) || a >= b ? a : b; }

}  // namespace

double error_limit(DType dtype) {
  switch (dtype) {
    case DType::float64: return 1e-12;
    case DType::float32: return 1e-4;
    case DType::bfloat16:
    case DType::float16: return 1e-2;
    default: return 1e-1;
  }
}

Verification verify_product(Matrix a, Matrix b, const float* c, Count m, Count n, Count k, double limit) {
  Verification result;
  result.limit = limit;
  std::vector<double> signs;
  for (Count j = 0; j < n; ++j) signs.push_back(sign_of(j));
  const std::vector<double> want = times(a, times(b, signs, k), m);
  const double size = root_mean_square(a.data, m * k) * root_mean_square(b.data, k * n) *
                      std::sqrt(static_cast<double>(k) * static_cast<double>(n));
  for (Count i = 0; i < m; ++i) {
    double got = 0;
    for (Count j = 0; j < n; ++j) got += static_cast<double>(c[i * n + j]) * signs[static_cast<std::size_t>(j)];
    if (!std::isfinite(got))
      return failed("row " + std::to_string(i) + " of the product holds NaN: never written, or wrong", limit);
    result.error = worse(result.error, std::abs(got - want[static_cast<std::size_t>(i)]) / size);
  }
  judge(result);
  return result;
}

Verification verify_elements(const float* values, Count elements, const std::function<double(Count)>& expected,
                             double scale, double limit) {
  Verification result;
  result.limit = limit;
  for (Count i = 0; i < elements; ++i) {
    if (!std::isfinite(values[i]))
      return failed(
          "element " + std::to_string(i) + " of " + std::to_string(elements) + " is NaN: never written, or wrong",
          limit);
  }
  const auto check = [&](Count i) {
    const double want = expected(i);
    result.error =
        worse(result.error, std::abs(static_cast<double>(values[i]) - want) / std::max(std::abs(want), scale));
  };
  const Count stride = std::max<Count>(1, elements / most_checked);
  for (Count i = 0; i < elements; i += stride) check(i);
  if (elements > 0) check(elements - 1);
  judge(result);
  return result;
}

Verification verify_value(double value, double expected, double scale, double limit) {
  Verification result;
  result.limit = limit;
  result.error = std::abs(value - expected) / std::max(std::abs(expected), scale);
  judge(result);
  return result;
}

}  // namespace llmcalc
