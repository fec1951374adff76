// Matrix products in rising complexity: one thread an element, tiles in shared memory, tiles in registers, tensor
// cores. Each is a point under the roof that shows what implementing it well is worth. C (m, n) = A (m, k) x B (k, n),
// row by row.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <mma.h>

#include "kernels/cuda/launch.hpp"

namespace llmcalc::cuda {
namespace {

cudaStream_t of(Stream stream) { return static_cast<cudaStream_t>(stream); }
unsigned blocks(int size, int tile) { return static_cast<unsigned>((size + tile - 1) / tile); }

// ---- one thread an element

constexpr int plain_tile = 16;

__global__ void plain_kernel(const float* a, const float* b, float* c, int m, int n, int k) {
  const std::int64_t batch = blockIdx.z;
  a += batch * m * k;
  b += batch * k * n;
  c += batch * m * n;
  const int row = static_cast<int>(blockIdx.y) * plain_tile + static_cast<int>(threadIdx.y);
  const int column = static_cast<int>(blockIdx.x) * plain_tile + static_cast<int>(threadIdx.x);
  if (row >= m || column >= n) return;
  float sum = 0;
  for (int p = 0; p < k; ++p)
    sum += a[static_cast<std::int64_t>(row) * k + p] * b[static_cast<std::int64_t>(p) * n + column];
  c[static_cast<std::int64_t>(row) * n + column] = sum;
}

// ---- tiles in shared memory

constexpr int shared_tile = 32;

__global__ void __launch_bounds__(shared_tile* shared_tile)
    shared_kernel(const float* a, const float* b, float* c, int m, int n, int k) {
  __shared__ float ta[shared_tile][shared_tile], tb[shared_tile][shared_tile];
  const std::int64_t batch = blockIdx.z;
  a += batch * m * k;
  b += batch * k * n;
  c += batch * m * n;
  const int x = static_cast<int>(threadIdx.x), y = static_cast<int>(threadIdx.y);
  const int row = static_cast<int>(blockIdx.y) * shared_tile + y,
            column = static_cast<int>(blockIdx.x) * shared_tile + x;
  float sum = 0;
  for (int p0 = 0; p0 < k; p0 += shared_tile) {
    ta[y][x] = row < m && p0 + x < k ? a[static_cast<std::int64_t>(row) * k + p0 + x] : 0;
    tb[y][x] = p0 + y < k && column < n ? b[static_cast<std::int64_t>(p0 + y) * n + column] : 0;
    __syncthreads();
#pragma unroll
    for (int p = 0; p < shared_tile; ++p) sum += ta[y][p] * tb[p][x];
    __syncthreads();
  }
  if (row < m && column < n) c[static_cast<std::int64_t>(row) * n + column] = sum;
}

// ---- tiles in registers: 128 x 128 a block of 256 threads, 8 x 8 a thread

constexpr int block_tile = 128, depth = 8, thread_tile = 8, register_threads = 256;

__global__ void __launch_bounds__(register_threads)
    register_kernel(const float* a, const float* b, float* c, int m, int n, int k) {
  __shared__ float ta[depth][block_tile + 4], tb[depth][block_tile];  // A turned round; padded against bank conflicts
  const std::int64_t batch = blockIdx.z;
  a += batch * m * k;
  b += batch * k * n;
  c += batch * m * n;
  const int thread = static_cast<int>(threadIdx.x);
  const int row0 = static_cast<int>(blockIdx.y) * block_tile, column0 = static_cast<int>(blockIdx.x) * block_tile;
  const int ty = thread / 16 * thread_tile, tx = thread % 16 * 4;
  float sums[thread_tile][thread_tile] = {};
  for (int p0 = 0; p0 < k; p0 += depth) {
#pragma unroll
    for (int i = 0; i < block_tile * depth / register_threads; ++i) {
      const int at = thread + i * register_threads;
      const int ar = at / depth, ap = at % depth, bp = at / block_tile, bc = at % block_tile;
      ta[ap][ar] = row0 + ar < m && p0 + ap < k ? a[static_cast<std::int64_t>(row0 + ar) * k + p0 + ap] : 0;
      tb[bp][bc] = p0 + bp < k && column0 + bc < n ? b[static_cast<std::int64_t>(p0 + bp) * n + column0 + bc] : 0;
    }
    __syncthreads();
#pragma unroll
    for (int p = 0; p < depth; ++p) {
      float x[thread_tile], y[thread_tile];
#pragma unroll
      for (int i = 0; i < thread_tile; ++i) x[i] = ta[p][ty + i];
#pragma unroll
      for (int j = 0; j < thread_tile; ++j) y[j] = tb[p][tx + j % 4 + j / 4 * 64];
#pragma unroll
      for (int i = 0; i < thread_tile; ++i) {
#pragma unroll
        for (int j = 0; j < thread_tile; ++j) sums[i][j] += x[i] * y[j];
      }
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < thread_tile; ++i) {
#pragma unroll
    for (int j = 0; j < thread_tile; ++j) {
      const int row = row0 + ty + i, column = column0 + tx + j % 4 + j / 4 * 64;
      if (row < m && column < n) c[static_cast<std::int64_t>(row) * n + column] = sums[i][j];
    }
  }
}

// ---- tensor cores: 128 x 128 a block of 8 warps, 64 x 32 a warp, in fragments of 16 x 16 x 16

[[maybe_unused]] constexpr int fragment = 16, tensor_threads = 256, warp_rows = 64, warp_columns = 32;
[[maybe_unused]] constexpr int row_padding = 8;  // elements: rows of a tile start in different banks

// bfloat16 fragments came with compute capability 8.0; the backend offers this kernel to no device before it.
template <class T>
__global__ void __launch_bounds__(tensor_threads) tensor_kernel(const T* a, const T* b, T* c, int m, int n, int k) {
#if __CUDA_ARCH__ >= 800
  namespace wmma = nvcuda::wmma;
  __shared__ __align__(32) T ta[tensor_tile][tensor_depth + row_padding];
  __shared__ __align__(32) T tb[tensor_depth][tensor_tile + row_padding];
  __shared__ __align__(32) float staged[tensor_threads / 32][fragment][fragment];
  const std::int64_t batch = blockIdx.z;
  a += batch * m * k;
  b += batch * k * n;
  c += batch * m * n;
  const int thread = static_cast<int>(threadIdx.x), warp = thread / 32, lane = thread % 32;
  const int row0 = static_cast<int>(blockIdx.y) * tensor_tile, column0 = static_cast<int>(blockIdx.x) * tensor_tile;
  const int wr = warp / 4 * warp_rows, wc = warp % 4 * warp_columns;
  constexpr int fr = warp_rows / fragment, fc = warp_columns / fragment;
  wmma::fragment<wmma::accumulator, fragment, fragment, fragment, float> sums[fr][fc];
#pragma unroll
  for (int i = 0; i < fr; ++i) {
#pragma unroll
    for (int j = 0; j < fc; ++j) wmma::fill_fragment(sums[i][j], 0.0F);
  }
  constexpr int vector = 8;  // elements of 16 bytes
  for (int p0 = 0; p0 < k; p0 += tensor_depth) {
#pragma unroll
    for (int at = thread * vector; at < tensor_tile * tensor_depth; at += tensor_threads * vector) {
      const int ar = at / tensor_depth, ap = at % tensor_depth, bp = at / tensor_tile, bc = at % tensor_tile;
      *reinterpret_cast<int4*>(&ta[ar][ap]) =
          *reinterpret_cast<const int4*>(a + static_cast<std::int64_t>(row0 + ar) * k + p0 + ap);
      *reinterpret_cast<int4*>(&tb[bp][bc]) =
          *reinterpret_cast<const int4*>(b + static_cast<std::int64_t>(p0 + bp) * n + column0 + bc);
    }
    __syncthreads();
#pragma unroll
    for (int p = 0; p < tensor_depth; p += fragment) {
      wmma::fragment<wmma::matrix_a, fragment, fragment, fragment, T, wmma::row_major> x[fr];
      wmma::fragment<wmma::matrix_b, fragment, fragment, fragment, T, wmma::row_major> y[fc];
#pragma unroll
      for (int i = 0; i < fr; ++i) wmma::load_matrix_sync(x[i], &ta[wr + i * fragment][p], tensor_depth + row_padding);
#pragma unroll
      for (int j = 0; j < fc; ++j) wmma::load_matrix_sync(y[j], &tb[p][wc + j * fragment], tensor_tile + row_padding);
#pragma unroll
      for (int i = 0; i < fr; ++i) {
#pragma unroll
        for (int j = 0; j < fc; ++j) wmma::mma_sync(sums[i][j], x[i], y[j], sums[i][j]);
      }
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < fr; ++i) {
#pragma unroll
    for (int j = 0; j < fc; ++j) {
      wmma::store_matrix_sync(&staged[warp][0][0], sums[i][j], fragment, wmma::mem_row_major);
      __syncwarp();
      for (int at = lane; at < fragment * fragment; at += 32) {
        const int row = row0 + wr + i * fragment + at / fragment, column = column0 + wc + j * fragment + at % fragment;
        c[static_cast<std::int64_t>(row) * n + column] = static_cast<T>(staged[warp][at / fragment][at % fragment]);
      }
      __syncwarp();
    }
  }
#else
  (void)a, (void)b, (void)c, (void)m, (void)n, (void)k;
#endif
}

}  // namespace

void matmul_plain(const float* a, const float* b, float* c, int batch, int m, int n, int k, Stream stream) {
  const dim3 grid(blocks(n, plain_tile), blocks(m, plain_tile), static_cast<unsigned>(batch)),
      block(plain_tile, plain_tile);
  plain_kernel<<<grid, block, 0, of(stream)>>>(a, b, c, m, n, k);
}

void matmul_shared(const float* a, const float* b, float* c, int batch, int m, int n, int k, Stream stream) {
  const dim3 grid(blocks(n, shared_tile), blocks(m, shared_tile), static_cast<unsigned>(batch)),
      block(shared_tile, shared_tile);
  shared_kernel<<<grid, block, 0, of(stream)>>>(a, b, c, m, n, k);
}

void matmul_registers(const float* a, const float* b, float* c, int batch, int m, int n, int k, Stream stream) {
  const dim3 grid(blocks(n, block_tile), blocks(m, block_tile), static_cast<unsigned>(batch));
  register_kernel<<<grid, register_threads, 0, of(stream)>>>(a, b, c, m, n, k);
}

void matmul_tensor(const void* a, const void* b, void* c, Format format, int batch, int m, int n, int k,
                   Stream stream) {
  const dim3 grid(blocks(n, tensor_tile), blocks(m, tensor_tile), static_cast<unsigned>(batch));
  if (format == Format::fp16) {
    tensor_kernel<<<grid, tensor_threads, 0, of(stream)>>>(static_cast<const __half*>(a), static_cast<const __half*>(b),
                                                           static_cast<__half*>(c), m, n, k);
  } else {
    tensor_kernel<<<grid, tensor_threads, 0, of(stream)>>>(static_cast<const __nv_bfloat16*>(a),
                                                           static_cast<const __nv_bfloat16*>(b),
                                                           static_cast<__nv_bfloat16*>(c), m, n, k);
  }
}

}  // namespace llmcalc::cuda
