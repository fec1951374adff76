#include "kernels/reference.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/kernel_constants.hpp"

namespace llmcalc {
namespace {

// Of the row that element i is in: sum of squares for a norm; sum of exponentials for a softmax.
double row_reference(const float* in, Count columns, Count i, bool softmax) {
  const float* row = in + i / columns * columns;
  const double x = static_cast<double>(in[i]);
  double sum = 0;
  if (!softmax) {
    for (Count j = 0; j < columns; ++j) sum += static_cast<double>(row[j]) * static_cast<double>(row[j]);
    return x / std::sqrt(sum / static_cast<double>(columns) + static_cast<double>(norm_epsilon));
  }
  for (Count j = 0; j < columns; ++j) sum += std::exp(static_cast<double>(row[j]) - x);
  return 1 / sum;
}

}  // namespace

double pass_reference(Kernel kernel, const float* x, const float* y, Count columns, Count i) {
  const auto a = [&] { return static_cast<double>(x[i]); };
  const auto b = [&] { return static_cast<double>(y[i]); };
  switch (kernel) {
    case Kernel::write: return static_cast<double>(write_value);
    case Kernel::copy:
    case Kernel::memory_copy: return a();
    case Kernel::scale: return static_cast<double>(scale_factor) * a();
    case Kernel::add: return a() + b();
    case Kernel::triad: return a() + static_cast<double>(scale_factor) * b();
    case Kernel::gated_activation: return a() / (1 + std::exp(-a())) * b();
    default: return row_reference(x, columns, i, kernel == Kernel::softmax);
  }
}

double chain_reference(double x, Count rounds) {
  for (Count i = 0; i < rounds; ++i) x = static_cast<double>(chain_factor) * x + static_cast<double>(chain_summand);
  return x;
}

double adamw_reference(double g, int which) {
  const double beta1 = adam_beta1, beta2 = adam_beta2, rate = adam_rate;
  const double first = adam_first_mean * beta1 + g * (1 - beta1);
  const double second = adam_first_square * beta2 + g * g * (1 - beta2);
  if (which == 1) return first;
  if (which == 2) return second;
  const double root = std::sqrt(second / (1 - beta2)) + adam_epsilon;
  return adam_first_parameter * (1 - rate * adam_decay) - rate * first / (1 - beta1) / root;
}

MixedReference::MixedReference(const float* in, Count read, Count written, bool transcendental)
    : in_(in),
      read_(read),
      written_(written),
      inputs_(written > 0 ? read / written : 0),
      used_(inputs_ > 0 ? inputs_ * written : (written > 0 ? read : 0)),
      with_input_(inputs_ > 0 ? written : used_),
      transcendental_(transcendental) {}

double MixedReference::at(Count i) const {
  if (i >= with_input_) return static_cast<double>(write_value);
  double x = static_cast<double>(in_[i]);
  for (Count j = 1; j < inputs_; ++j) x += static_cast<double>(in_[j * written_ + i]);
  return transcendental_ ? std::exp(-std::abs(x)) : x;
}

double MixedReference::sum() const {
  double sum = 0;
  for (Count i = used_; i < read_; ++i) sum += static_cast<double>(in_[i]);
  return sum;
}

double MixedReference::sum_scale() const { return std::sqrt(static_cast<double>(std::max<Count>(read_ - used_, 1))); }

}  // namespace llmcalc
