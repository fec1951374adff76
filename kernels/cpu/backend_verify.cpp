// Poisoning what a run will write, and checking what it wrote.
#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/cpu/task.hpp"
#include "kernels/verify.hpp"

namespace llmcalc::cpu {
namespace {

// The state AdamW starts from when its step is checked.
constexpr float first_parameter = 0.5F, first_mean = 0.1F, first_square = 0.01F;

Verification passed() {
  Verification result;
  result.passed = true;
  return result;
}

// The first that failed, or the one with the largest error.
void merge(Verification& all, const Verification& one) {
  if (!all.passed) return;
  if (!one.passed || one.error > all.error) all = one;
}

double step_of_adamw(double p, double m, double v, double g, int which) {
  const double first = m * adam_beta1 + g * (1 - static_cast<double>(adam_beta1));
  const double second = v * adam_beta2 + g * g * (1 - static_cast<double>(adam_beta2));
  if (which == 1) return first;
  if (which == 2) return second;
  const double corrected = first / (1 - static_cast<double>(adam_beta1));
  const double root = std::sqrt(second / (1 - static_cast<double>(adam_beta2))) + adam_epsilon;
  return p * (1 - static_cast<double>(adam_rate) * adam_decay) - adam_rate * corrected / root;
}

// Of the row that element i is in: sum of squares for a norm; largest and sum of exponentials for a softmax.
double row_result(const float* in, Count columns, Count i, bool softmax) {
  const float* row = in + i / columns * columns;
  const double x = static_cast<double>(in[i]);
  double sum = 0;
  if (!softmax) {
    for (Count j = 0; j < columns; ++j) sum += static_cast<double>(row[j]) * static_cast<double>(row[j]);
    return x / std::sqrt(sum / static_cast<double>(columns) + norm_epsilon);
  }
  for (Count j = 0; j < columns; ++j) sum += std::exp(static_cast<double>(row[j]) - x);
  return 1 / sum;
}

}  // namespace

void CpuBackend::poison(CpuTask& task) {
  const Workload& w = task.workload;
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  for (double& sum : task.sums) sum = std::numeric_limits<double>::quiet_NaN();
  if (task.stride == 0) return;
  if (w.kernel == Kernel::matmul) {
    float* c = arena_.data() + task.window(task.next) + task.out_offset;
    std::fill(c, c + w.batch * w.m * w.n, nan);
    return;
  }
  pool_->run([&](std::size_t thread) {
    float* out = arena_.slice(thread) + task.window(task.next) + task.out_offset;
    if (w.kernel == Kernel::adamw) {
      const float first[] = {first_parameter, first_mean, first_square};
      for (Count i = 0; i < task.out_arrays; ++i) {
        float* array = out + i * task.array_stride;
        std::fill(array, array + task.parts[thread].elements, first[i]);
      }
    } else if (w.kernel != Kernel::read) {
      std::fill(out, out + std::max(task.parts[thread].elements, task.parts[thread].written), nan);
    }
  });
}

// What the task wrote lies where other workloads' inputs will be.
void CpuBackend::clean_up(const CpuTask& task) {
  const Count used = std::min(task.next, task.windows), length = task.stride - task.out_offset;
  if (task.stride == 0 || length == 0) return;
  if (task.workload.kernel == Kernel::matmul) {
    for (Count i = 0; i < used; ++i) arena_.fill(i * task.stride + task.out_offset, length);
    return;
  }
  pool_->run([&](std::size_t thread) {
    const Count first = static_cast<Count>(thread) * arena_.slice_elements() + task.out_offset;
    for (Count i = 0; i < used; ++i) arena_.fill(first + i * task.stride, length);
  });
}

Verification CpuBackend::verify(Task& given) {
  auto& task = static_cast<CpuTask&>(given);
  switch (task.workload.kernel) {
    case Kernel::launch: return passed();
    case Kernel::peak: {
      Verification all = passed();
      for (std::size_t t = 0; t < pool_->size(); ++t) {
        float again = 0;
        kernels_.peak(task.rounds, &again);
        const double value = static_cast<double>(again);
        merge(all, verify_value(task.sums[t * CpuTask::sum_stride], value, 1, error_limit(DType::float32)));
      }
      return all;
    }
    case Kernel::matmul: return verify_matmul(task);
    case Kernel::stream: return verify_mixed(task);
    default: return verify_streams(task);
  }
}

Verification CpuBackend::verify_matmul(const CpuTask& task) const {
  const Workload& w = task.workload;
  const float* a = arena_.data() + task.window(task.last());
  const float* b = a + task.b_offset;
  const float* c = arena_.data() + task.window(task.last()) + task.out_offset;
  Verification all = passed();
  for (Count i = 0; i < w.batch; ++i)
    merge(all, verify_product(a + i * w.m * w.k, b + i * w.k * w.n, c + i * w.m * w.n, w.m, w.n, w.k, error_limit(w.dtype)));
  return all;
}

Verification CpuBackend::verify_mixed(const CpuTask& task) const {
  Verification all = passed();
  constexpr double limit = 1e-5;
  for (std::size_t t = 0; t < pool_->size(); ++t) {
    const CpuTask::Part& part = task.parts[t];
    const float* in = arena_.slice(t) + task.window(task.last());
    const Count inputs = part.written > 0 ? part.read / part.written : 0;
    const Count used = inputs > 0 ? inputs * part.written : (part.written > 0 ? part.read : 0);
    const Count with_input = inputs > 0 ? part.written : used;
    if (part.written > 0) {
      const float* out = arena_.slice(t) + task.window(task.last()) + task.out_offset;
      const auto expected = [&](Count i) {
        if (i >= with_input) return static_cast<double>(write_value);
        double x = static_cast<double>(in[i]);
        for (Count j = 1; j < inputs; ++j) x += static_cast<double>(in[j * part.written + i]);
        return task.workload.transcendental ? transcendental_reference(x) : x;
      };
      merge(all, verify_elements(out, part.written, expected, 1, limit));
    }
    double sum = 0;
    for (Count i = used; i < part.read; ++i) sum += static_cast<double>(in[i]);
    const double scale = std::sqrt(static_cast<double>(std::max<Count>(part.read - used, 1)));
    merge(all, verify_value(task.sums[t * CpuTask::sum_stride], sum, scale, error_limit(DType::float32)));
  }
  return all;
}

Verification CpuBackend::verify_streams(const CpuTask& task) const {
  const Workload& w = task.workload;
  constexpr double limit = 1e-5;
  Verification all = passed();
  for (std::size_t t = 0; t < pool_->size(); ++t) {
    const Count elements = task.parts[t].elements;
    if (elements == 0) continue;
    const float* x = arena_.slice(t) + task.window(task.last());
    const float* y = x + task.array_stride;
    if (w.kernel == Kernel::read) {
      double sum = 0;
      for (Count i = 0; i < elements; ++i) sum += static_cast<double>(x[i]);
      const double scale = std::sqrt(static_cast<double>(elements));
      merge(all, verify_value(task.sums[t * CpuTask::sum_stride], sum, scale, error_limit(w.dtype)));
      continue;
    }
    const float* out = arena_.slice(t) + task.window(task.last()) + task.out_offset;
    if (w.kernel == Kernel::adamw) {
      for (int array = 0; array < 3; ++array) {
        merge(all, verify_elements(out + array * task.array_stride, elements, [&](Count i) {
          return step_of_adamw(first_parameter, first_mean, first_square, static_cast<double>(x[i]), array);
        }, 1e-2, limit));
      }
      continue;
    }
    const auto expected = [&](Count i) -> double {
      const double a = task.in_arrays > 0 ? static_cast<double>(x[i]) : 0;
      const double b = task.in_arrays > 1 ? static_cast<double>(y[i]) : 0;
      switch (w.kernel) {
        case Kernel::write: return write_value;
        case Kernel::copy: return a;
        case Kernel::scale: return scale_factor * a;
        case Kernel::add: return a + b;
        case Kernel::triad: return a + scale_factor * b;
        case Kernel::gated_activation: return a / (1 + std::exp(-a)) * b;
        default: return row_result(x, w.columns, i, w.kernel == Kernel::softmax);
      }
    };
    merge(all, verify_elements(out, elements, expected, w.kernel == Kernel::softmax ? 1e-6 : 1, limit));
  }
  return all;
}

}  // namespace llmcalc::cpu
