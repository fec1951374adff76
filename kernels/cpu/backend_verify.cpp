// Poisoning what a run will write, and checking what it wrote.
#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/cpu/task.hpp"
#include "kernels/kernel_constants.hpp"
#include "kernels/reference.hpp"
#include "kernels/verify.hpp"

namespace llmcalc::cpu {
namespace {

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
  if (is_attention(w.kernel)) {
    float* window = arena_.data() + task.window(task.next);
    std::fill(window + task.out_offset, window + task.stride, nan);
    return;
  }
  pool_->run([&](std::size_t thread) {
    float* out = arena_.slice(thread) + task.window(task.next) + task.out_offset;
    if (w.kernel == Kernel::adamw) {
      const float first[] = {adam_first_parameter, adam_first_mean, adam_first_square};
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
  if (task.shared()) {
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
    case Kernel::attention:
    case Kernel::attention_backward: return verify_attention(task);
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
    merge(all, verify_product(whole_matrix(a + i * w.m * w.k, w.m, w.k, w.a_turned),
                              whole_matrix(b + i * w.k * w.n, w.k, w.n, w.b_turned), c + i * w.m * w.n, w.m, w.n, w.k,
                              error_limit(w.dtype)));
  return all;
}

Verification CpuBackend::verify_mixed(const CpuTask& task) const {
  Verification all = passed();
  constexpr double limit = 1e-5;
  for (std::size_t t = 0; t < pool_->size(); ++t) {
    const CpuTask::Part& part = task.parts[t];
    const float* in = arena_.slice(t) + task.window(task.last());
    const MixedReference reference(in, part.read, part.written, task.workload.transcendental);
    if (part.written > 0) {
      const float* out = arena_.slice(t) + task.window(task.last()) + task.out_offset;
      merge(all, verify_elements(out, part.written, [&](Count i) { return reference.at(i); }, 1, limit));
    }
    merge(all, verify_value(task.sums[t * CpuTask::sum_stride], reference.sum(), reference.sum_scale(),
                            error_limit(DType::float32)));
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
        merge(all, verify_elements(
                       out + array * task.array_stride, elements,
                       [&](Count i) { return adamw_reference(static_cast<double>(x[i]), array); }, 1e-2, limit));
      }
      continue;
    }
    if (w.kernel == Kernel::intensity) {
      const auto chain = [&](Count i) { return chain_reference(static_cast<double>(x[i]), w.rounds); };
      merge(all, verify_elements(out, elements, chain, 1, error_limit(w.dtype)));
      continue;
    }
    const auto expected = [&](Count i) { return pass_reference(w.kernel, x, y, w.columns, i); };
    merge(all, verify_elements(out, elements, expected, w.kernel == Kernel::softmax ? 1e-6 : 1, limit));
  }
  return all;
}

}  // namespace llmcalc::cpu
