// Kernels over memory. A thread moves 16 bytes at a time and has four such accesses in flight: with one, an H200
// reaches two thirds of its bandwidth (te42kyfo/gpu-benches).
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <cuda_runtime.h>

#include "kernels/cuda/launch.hpp"

namespace llmcalc::cuda {
namespace {

constexpr int block_size = 256;
constexpr int in_flight = 4;
constexpr int blocks_per_processor = 8;

cudaStream_t of(Stream stream) { return static_cast<cudaStream_t>(stream); }

// data.hpp's, for the device.
__device__ float random_at(std::uint64_t place) {
  std::uint32_t x = static_cast<std::uint32_t>(place) + 0x9e3779b9U * static_cast<std::uint32_t>(place >> 32);
  x ^= x >> 16;
  x *= 0x85ebca6bU;
  x ^= x >> 13;
  x *= 0xc2b2ae35U;
  x ^= x >> 16;
  return static_cast<float>(static_cast<std::int32_t>(x) / 256) * (1.0F / 8388608.0F);
}

template <class T>
__global__ void random_kernel(T* out, std::int64_t elements, std::uint64_t first) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < elements; i += stride)
    out[i] = static_cast<T>(random_at(first + static_cast<std::uint64_t>(i)));
}

__global__ void fill_kernel(float* out, std::int64_t elements, float value) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < elements; i += stride)
    out[i] = value;
}

__global__ void empty_kernel() {}

struct Write {
  static constexpr int inputs = 0;
  float value;
  __device__ float operator()(float, float) const { return value; }
};
struct Copy {
  static constexpr int inputs = 1;
  __device__ float operator()(float x, float) const { return x; }
};
struct Scale {
  static constexpr int inputs = 1;
  float scale;
  __device__ float operator()(float x, float) const { return scale * x; }
};
struct Add {
  static constexpr int inputs = 2;
  __device__ float operator()(float x, float y) const { return x + y; }
};
struct Triad {
  static constexpr int inputs = 2;
  float scale;
  __device__ float operator()(float x, float y) const { return x + scale * y; }
};
struct Gated {
  static constexpr int inputs = 2;
  __device__ float operator()(float gate, float up) const { return gate / (1.0F + __expf(-gate)) * up; }
};

// `elements` is a multiple of 4, arrays are aligned to 16 bytes: the backend sees to it.
template <class Operation>
__global__ void __launch_bounds__(block_size)
    pass_kernel(const float4* __restrict__ in0, const float4* __restrict__ in1, float4* __restrict__ out,
                std::int64_t vectors, Operation operation) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * block_size * in_flight;
  for (std::int64_t base = static_cast<std::int64_t>(blockIdx.x) * block_size * in_flight + threadIdx.x; base < vectors;
       base += step) {
    float4 x[in_flight] = {}, y[in_flight] = {};
#pragma unroll
    for (int j = 0; j < in_flight; ++j) {
      const std::int64_t i = base + j * block_size;
      if (i < vectors && Operation::inputs > 0) x[j] = __ldcs(in0 + i);
      if (i < vectors && Operation::inputs > 1) y[j] = __ldcs(in1 + i);
    }
#pragma unroll
    for (int j = 0; j < in_flight; ++j) {
      const std::int64_t i = base + j * block_size;
      if (i >= vectors) continue;
      __stcs(out + i, make_float4(operation(x[j].x, y[j].x), operation(x[j].y, y[j].y), operation(x[j].z, y[j].z),
                                  operation(x[j].w, y[j].w)));
    }
  }
}

// Sixteen chains in a thread that do not wait for one another.
__global__ void __launch_bounds__(block_size)
    chain_kernel(const float4* __restrict__ in, float4* __restrict__ out, std::int64_t vectors, int rounds,
                 float factor, float summand) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * block_size * in_flight;
  for (std::int64_t base = static_cast<std::int64_t>(blockIdx.x) * block_size * in_flight + threadIdx.x; base < vectors;
       base += step) {
    float4 x[in_flight] = {};
#pragma unroll
    for (int j = 0; j < in_flight; ++j) {
      if (base + j * block_size < vectors) x[j] = __ldcs(in + base + j * block_size);
    }
#pragma unroll 4
    for (int round = 0; round < rounds; ++round) {
#pragma unroll
      for (int j = 0; j < in_flight; ++j) {
        x[j] = make_float4(fmaf(x[j].x, factor, summand), fmaf(x[j].y, factor, summand), fmaf(x[j].z, factor, summand),
                           fmaf(x[j].w, factor, summand));
      }
    }
#pragma unroll
    for (int j = 0; j < in_flight; ++j) {
      if (base + j * block_size < vectors) __stcs(out + base + j * block_size, x[j]);
    }
  }
}

template <class Operation>
void start(const Pass& pass, int processors, Stream stream, Operation operation) {
  pass_kernel<<<processors * blocks_per_processor, block_size, 0, of(stream)>>>(
      reinterpret_cast<const float4*>(pass.in0), reinterpret_cast<const float4*>(pass.in1),
      reinterpret_cast<float4*>(pass.out0), pass.elements / 4, operation);
}

__device__ float block_sum(float value) {
  __shared__ float of_warp[block_size / 32];
  for (int offset = 16; offset > 0; offset /= 2) value += __shfl_down_sync(0xffffffffU, value, offset);
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = value;
  __syncthreads();
  float sum = 0;
  for (int i = 0; i < block_size / 32; ++i) sum += of_warp[i];
  __syncthreads();
  return sum;
}

__device__ float block_max(float value) {
  __shared__ float of_warp[block_size / 32];
  for (int offset = 16; offset > 0; offset /= 2) value = fmaxf(value, __shfl_down_sync(0xffffffffU, value, offset));
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = value;
  __syncthreads();
  float most = of_warp[0];
  for (int i = 1; i < block_size / 32; ++i) most = fmaxf(most, of_warp[i]);
  __syncthreads();
  return most;
}

__global__ void __launch_bounds__(block_size)
    read_kernel(const float4* __restrict__ in, float* sums, std::int64_t vectors) {
  float sum = 0;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * block_size * in_flight;
  for (std::int64_t base = static_cast<std::int64_t>(blockIdx.x) * block_size * in_flight + threadIdx.x; base < vectors;
       base += step) {
    float4 x[in_flight] = {};
#pragma unroll
    for (int j = 0; j < in_flight; ++j) {
      if (base + j * block_size < vectors) x[j] = __ldcs(in + base + j * block_size);
    }
#pragma unroll
    for (int j = 0; j < in_flight; ++j) sum += (x[j].x + x[j].y) + (x[j].z + x[j].w);
  }
  sum = block_sum(sum);
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

__global__ void __launch_bounds__(block_size)
    adamw_kernel(const float* __restrict__ g, float* __restrict__ p, float* __restrict__ m, float* __restrict__ v,
                 std::int64_t elements, AdamW s) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * block_size;
  const float step = s.rate / (1 - s.beta1), correction = 1 / (1 - s.beta2);  // of the first step
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * block_size + threadIdx.x; i < elements; i += stride) {
    const float first = m[i] * s.beta1 + g[i] * (1 - s.beta1);
    const float second = v[i] * s.beta2 + g[i] * g[i] * (1 - s.beta2);
    m[i] = first;
    v[i] = second;
    p[i] = p[i] * (1 - s.rate * s.decay) - step * first / (sqrtf(fabsf(second * correction)) + s.epsilon);
  }
}

// A block a row.
__global__ void __launch_bounds__(block_size)
    softmax_kernel(const float* __restrict__ in, float* __restrict__ out, std::int64_t columns) {
  const float* row = in + static_cast<std::int64_t>(blockIdx.x) * columns;
  float* to = out + static_cast<std::int64_t>(blockIdx.x) * columns;
  float most = row[0], sum = 0;
  for (std::int64_t i = threadIdx.x; i < columns; i += block_size) most = fmaxf(most, row[i]);
  most = block_max(most);
  for (std::int64_t i = threadIdx.x; i < columns; i += block_size) sum += __expf(row[i] - most);
  sum = block_sum(sum);
  const float inverse = 1 / sum;
  for (std::int64_t i = threadIdx.x; i < columns; i += block_size) to[i] = __expf(row[i] - most) * inverse;
}

__global__ void __launch_bounds__(block_size)
    rms_norm_kernel(const float* __restrict__ in, float* __restrict__ out, std::int64_t columns, float epsilon) {
  const float* row = in + static_cast<std::int64_t>(blockIdx.x) * columns;
  float* to = out + static_cast<std::int64_t>(blockIdx.x) * columns;
  float sum = 0;
  for (std::int64_t i = threadIdx.x; i < columns; i += block_size) sum += row[i] * row[i];
  sum = block_sum(sum);
  const float inverse = rsqrtf(sum / static_cast<float>(columns) + epsilon);
  for (std::int64_t i = threadIdx.x; i < columns; i += block_size) to[i] = row[i] * inverse;
}

__global__ void __launch_bounds__(block_size)
    mixed_kernel(const float* __restrict__ in, float* __restrict__ out, float* sums, std::int64_t read,
                 std::int64_t written, bool transcendental, float value) {
  const std::int64_t inputs = written > 0 ? read / written : 0;
  const std::int64_t used = inputs > 0 ? inputs * written : (written > 0 ? read : 0),
                     full = inputs > 0 ? written : used;
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * block_size + threadIdx.x;
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * block_size;
  for (std::int64_t i = first; i < written; i += stride) {
    float x = value;
    if (i < full) {
      x = in[i];
      for (std::int64_t j = 1; j < inputs; ++j) x += in[j * written + i];
      if (transcendental) x = __expf(-fabsf(x));
    }
    out[i] = x;
  }
  float sum = 0;
  for (std::int64_t i = used + first; i < read; i += stride) sum += in[i];
  sum = block_sum(sum);
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

}  // namespace

void fill_random(void* out, std::int64_t elements, std::uint64_t first, Format format, Stream stream) {
  constexpr int blocks = 1024;
  if (format == Format::fp32)
    random_kernel<<<blocks, block_size, 0, of(stream)>>>(static_cast<float*>(out), elements, first);
  if (format == Format::bf16)
    random_kernel<<<blocks, block_size, 0, of(stream)>>>(static_cast<__nv_bfloat16*>(out), elements, first);
  if (format == Format::fp16)
    random_kernel<<<blocks, block_size, 0, of(stream)>>>(static_cast<__half*>(out), elements, first);
  if (format == Format::fp8)
    random_kernel<<<blocks, block_size, 0, of(stream)>>>(static_cast<__nv_fp8_e4m3*>(out), elements, first);
}

void fill_float(float* out, std::int64_t elements, float value, Stream stream) {
  constexpr int blocks = 1024;
  fill_kernel<<<blocks, block_size, 0, of(stream)>>>(out, elements, value);
}

void do_nothing(Stream stream) { empty_kernel<<<1, 1, 0, of(stream)>>>(); }

void read(const Pass& pass, int processors, Stream stream) {
  read_kernel<<<processors * read_blocks_per_processor, block_size, 0, of(stream)>>>(
      reinterpret_cast<const float4*>(pass.in0), pass.out0, pass.elements / 4);
}
void write(const Pass& pass, int processors, Stream stream) { start(pass, processors, stream, Write{pass.value}); }
void copy(const Pass& pass, int processors, Stream stream) { start(pass, processors, stream, Copy{}); }
void scale(const Pass& pass, int processors, Stream stream) { start(pass, processors, stream, Scale{pass.scale}); }
void add(const Pass& pass, int processors, Stream stream) { start(pass, processors, stream, Add{}); }
void triad(const Pass& pass, int processors, Stream stream) { start(pass, processors, stream, Triad{pass.scale}); }
void gated_activation(const Pass& pass, int processors, Stream stream) { start(pass, processors, stream, Gated{}); }

void chain(const Pass& pass, float factor, float summand, int processors, Stream stream) {
  chain_kernel<<<processors * blocks_per_processor, block_size, 0, of(stream)>>>(
      reinterpret_cast<const float4*>(pass.in0), reinterpret_cast<float4*>(pass.out0), pass.elements / 4,
      static_cast<int>(pass.rounds), factor, summand);
}

void adamw(const Pass& pass, const AdamW& settings, int processors, Stream stream) {
  adamw_kernel<<<processors * blocks_per_processor, block_size, 0, of(stream)>>>(pass.in0, pass.out0, pass.out1,
                                                                                 pass.out2, pass.elements, settings);
}

void softmax(const Pass& pass, Stream stream) {
  softmax_kernel<<<static_cast<unsigned>(pass.elements / pass.columns), block_size, 0, of(stream)>>>(
      pass.in0, pass.out0, pass.columns);
}

void rms_norm(const Pass& pass, float epsilon, Stream stream) {
  rms_norm_kernel<<<static_cast<unsigned>(pass.elements / pass.columns), block_size, 0, of(stream)>>>(
      pass.in0, pass.out0, pass.columns, epsilon);
}

void mixed(const float* in, float* out, float* sums, std::int64_t read, std::int64_t written, bool transcendental,
           float value, int processors, Stream stream) {
  mixed_kernel<<<processors * read_blocks_per_processor, block_size, 0, of(stream)>>>(in, out, sums, read, written,
                                                                                      transcendental, value);
}

}  // namespace llmcalc::cuda
