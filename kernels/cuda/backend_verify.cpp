// Poisoning what a run will write on the device, and checking on the host what it wrote.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/cuda/task.hpp"
#include "kernels/kernel_constants.hpp"
#include "kernels/reference.hpp"
#include "kernels/small_floats.hpp"
#include "kernels/verify.hpp"

namespace llmcalc::cuda {
namespace {

std::vector<float> floats_at(const char* device, Count elements) {
  std::vector<float> host(static_cast<std::size_t>(elements));
  require(cudaMemcpy(host.data(), device, host.size() * sizeof(float), cudaMemcpyDeviceToHost), "a copy to the host");
  return host;
}

// A matrix of that number format, as floats.
std::vector<float> matrix_at(const char* device, Count elements, DType dtype) {
  if (dtype == DType::float32) return floats_at(device, elements);
  const auto count = static_cast<std::size_t>(elements), size = static_cast<std::size_t>(size_of(dtype).value());
  std::vector<unsigned char> raw(count * size);
  require(cudaMemcpy(raw.data(), device, raw.size(), cudaMemcpyDeviceToHost), "a copy to the host");
  std::vector<float> host(count);
  for (std::size_t i = 0; i < count; ++i) {
    std::uint16_t bits = 0;
    std::memcpy(&bits, raw.data() + i * size, size);  // the device's order of bytes is the host's
    host[i] = dtype == DType::bfloat16  ? from_bfloat16(bits)
              : dtype == DType::float16 ? from_half(bits)
                                        : from_e4m3(static_cast<std::uint8_t>(bits));
  }
  return host;
}

Verification passed() {
  Verification result;
  result.passed = true;
  return result;
}

constexpr double limit_of_passes = 1e-5, limit_of_fast_exponentials = 1e-4;

}  // namespace

void CudaBackend::poison(CudaTask& task) {
  const Workload& w = task.workload;
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  if (w.kernel == Kernel::launch) return;
  if (is_transfer(w.kernel)) {
    const auto bytes = static_cast<std::size_t>(w.elements);
    require(cudaMemset(task.memory->at(0), 0, bytes), "poisoning");
    std::memset(task.host_back->data(), 0, bytes);
    return;
  }
  char* out = task.window(task.next) + task.out_offset;
  if (w.kernel == Kernel::adamw) {
    const float first[] = {adam_first_parameter, adam_first_mean, adam_first_square};
    for (std::size_t i = 0; i < 3; ++i)
      fill_float(reinterpret_cast<float*>(out + i * task.array), w.elements, first[i], stream_);
  } else if (w.kernel == Kernel::matmul && product_output(w.dtype) != DType::float32) {
    // All bits set is a NaN in every format.
    require(cudaMemsetAsync(out, 0xff, task.out_bytes, stream_), "poisoning");
  } else {
    fill_float(reinterpret_cast<float*>(out), static_cast<std::int64_t>(task.out_bytes / sizeof(float)), nan, stream_);
  }
  fill_float(reinterpret_cast<float*>(task.sums->at(0)), processors_ * read_blocks_per_processor, nan, stream_);
  require(cudaStreamSynchronize(stream_), "poisoning");
}

Verification CudaBackend::verify(Task& given) {
  auto& task = static_cast<CudaTask&>(given);
  if (task.workload.kernel == Kernel::launch) return passed();
  if (is_transfer(task.workload.kernel)) return verify_transfer(task);
  return task.workload.kernel == Kernel::matmul ? verify_matmul(task) : verify_memory(task);
}

Verification CudaBackend::verify_transfer(const CudaTask& task) const {
  const auto bytes = static_cast<std::size_t>(task.workload.elements);
  std::vector<unsigned char> arrived(bytes);
  bool right = true;
  if (task.workload.kernel != Kernel::device_to_host) {
    require(cudaMemcpy(arrived.data(), task.memory->at(0), bytes, cudaMemcpyDeviceToHost), "a copy to the host");
    right = std::memcmp(arrived.data(), task.host->data(), bytes) == 0;
  }
  if (task.workload.kernel != Kernel::host_to_device)
    right = right && std::memcmp(task.host_back->data(), task.host->data(), bytes) == 0;
  Verification result;
  result.passed = right;
  if (!right) result.problem = "other bytes arrived than were sent";
  return result;
}

Verification CudaBackend::verify_matmul(const CudaTask& task) const {
  const Workload& w = task.workload;
  const char* window = task.window(task.last());
  const std::vector<float> a = matrix_at(window, w.batch * w.m * w.k, w.dtype);
  const std::vector<float> b = matrix_at(window + task.b_offset, w.batch * w.k * w.n, w.dtype);
  const std::vector<float> c = matrix_at(window + task.out_offset, w.batch * w.m * w.n, product_output(w.dtype));
  const double limit = w.tf32 ? error_limit(DType::bfloat16) : error_limit(product_output(w.dtype));
  Verification all = passed();
  for (Count i = 0; i < w.batch && all.passed; ++i) {
    const Verification one = verify_product(whole_matrix(a.data() + i * w.m * w.k, w.m, w.k, w.a_turned),
                                            whole_matrix(b.data() + i * w.k * w.n, w.k, w.n, w.b_turned),
                                            c.data() + i * w.m * w.n, w.m, w.n, w.k, limit);
    if (!one.passed || one.error > all.error) all = one;
  }
  return all;
}

Verification CudaBackend::verify_memory(const CudaTask& task) const {
  const Workload& w = task.workload;
  const char* window = task.window(task.last());
  const char* out = window + task.out_offset;
  const auto sum_found = [&] {
    double sum = 0;
    for (float part : floats_at(task.sums->at(0), processors_ * read_blocks_per_processor))
      sum += static_cast<double>(part);
    return sum;
  };
  if (w.kernel == Kernel::stream) {
    const std::vector<float> in = floats_at(window, task.read_words), written = floats_at(out, task.written_words);
    const MixedReference reference(in.data(), task.read_words, task.written_words, w.transcendental);
    const Verification sum =
        verify_value(sum_found(), reference.sum(), reference.sum_scale(), error_limit(DType::float32));
    if (!sum.passed || task.written_words == 0) return sum;
    return verify_elements(
        written.data(), task.written_words, [&](Count i) { return reference.at(i); }, 1, limit_of_fast_exponentials);
  }
  const std::vector<float> x = w.kernel == Kernel::write ? std::vector<float>{} : floats_at(window, w.elements);
  if (w.kernel == Kernel::read) {
    double sum = 0;
    for (float value : x) sum += static_cast<double>(value);
    return verify_value(sum_found(), sum, std::sqrt(static_cast<double>(w.elements)), error_limit(w.dtype));
  }
  if (w.kernel == Kernel::adamw) {
    Verification all = passed();
    for (int array = 0; array < 3 && all.passed; ++array) {
      const std::vector<float> values = floats_at(out + static_cast<std::size_t>(array) * task.array, w.elements);
      all = verify_elements(
          values.data(), w.elements,
          [&](Count i) { return adamw_reference(static_cast<double>(x[static_cast<std::size_t>(i)]), array); }, 1e-2,
          limit_of_passes);
    }
    return all;
  }
  const std::vector<float> y =
      arrays_read(w.kernel) == 2 ? floats_at(window + task.array, w.elements) : std::vector<float>{};
  const std::vector<float> values = floats_at(out, w.elements);
  if (w.kernel == Kernel::intensity)
    return verify_elements(
        values.data(), w.elements,
        [&](Count i) { return chain_reference(static_cast<double>(x[static_cast<std::size_t>(i)]), w.rounds); }, 1,
        error_limit(DType::float32));
  const double scale = w.kernel == Kernel::softmax ? 1e-6 : 1;
  return verify_elements(
      values.data(), w.elements, [&](Count i) { return pass_reference(w.kernel, x.data(), y.data(), w.columns, i); },
      scale, limit_of_fast_exponentials);
}

}  // namespace llmcalc::cuda
