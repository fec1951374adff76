// Starting the kernels of the .cu files from ordinary C++. Pointers are to device memory, `stream` is a cudaStream_t.
// Nothing here waits; errors are those of the runtime, by cudaGetLastError.
#pragma once

#include <cstdint>

namespace llmcalc::cuda {

using Stream = void*;

// Values that data.hpp makes, `first` being the place of the first; as one of these formats.
enum class Format : int { fp32, bf16, fp16, fp8 };
void fill_random(void* out, std::int64_t elements, std::uint64_t first, Format format, Stream stream);
void fill_float(float* out, std::int64_t elements, float value, Stream stream);  // NaN poisons
void do_nothing(Stream stream);

// One pass over arrays of `elements` floats, 16 bytes a thread and access, several of them in flight.
struct Pass {
  const float* in0 = nullptr;
  const float* in1 = nullptr;
  float* out0 = nullptr;  // adamw: p
  float* out1 = nullptr;  // m
  float* out2 = nullptr;  // v
  std::int64_t elements = 0, columns = 0;
  float scale = 0, value = 0;
  std::int64_t rounds = 0;  // of a chain
};
void read(const Pass& pass, int processors, Stream stream);  // block sums into out0
constexpr int read_blocks_per_processor = 8;
void write(const Pass& pass, int processors, Stream stream);
void copy(const Pass& pass, int processors, Stream stream);
void scale(const Pass& pass, int processors, Stream stream);
void add(const Pass& pass, int processors, Stream stream);
void triad(const Pass& pass, int processors, Stream stream);
void gated_activation(const Pass& pass, int processors, Stream stream);
// x becomes factor * x + summand, `rounds` times.
void chain(const Pass& pass, float factor, float summand, int processors, Stream stream);
struct AdamW {
  float beta1 = 0, beta2 = 0, rate = 0, epsilon = 0, decay = 0;
};
void adamw(const Pass& pass, const AdamW& settings, int processors, Stream stream);
void softmax(const Pass& pass, Stream stream);
void rms_norm(const Pass& pass, float epsilon, Stream stream);

// What MixedStream is on the processor: `written` floats, each from read / written inputs; the rest is read or filled.
void mixed(const float* in, float* out, float* sums, std::int64_t read, std::int64_t written, bool transcendental,
           float value, int processors, Stream stream);

// C (m, n) = A (m, k) x B (k, n), row by row, `batch` of them behind one another.
void matmul_plain(const float* a, const float* b, float* c, int batch, int m, int n, int k, Stream stream);
void matmul_shared(const float* a, const float* b, float* c, int batch, int m, int n, int k, Stream stream);
void matmul_registers(const float* a, const float* b, float* c, int batch, int m, int n, int k, Stream stream);
// On tensor cores, float32 sums stored in the operands' format; m and n multiples of 128, k of 32.
void matmul_tensor(const void* a, const void* b, void* c, Format format, int batch, int m, int n, int k, Stream stream);
constexpr int tensor_tile = 128, tensor_depth = 32;

}  // namespace llmcalc::cuda
