#include "kernels/cuda/product.hpp"

#include "core/diagnostics.hpp"

namespace llmcalc::cuda {
namespace {

constexpr std::size_t workspace_bytes = 32 << 20;  // what NVIDIA recommends for Hopper; more than earlier chips need
constexpr int most_candidates = 8;

void require(cublasStatus_t status, const char* what) {
  if (status != CUBLAS_STATUS_SUCCESS)
    throw Error(Exit::not_available,
                std::string("cuBLASLt: ") + what + " failed with status " + std::to_string(static_cast<int>(status)));
}

cudaDataType_t type_of(DType dtype) {
  if (dtype == DType::bfloat16) return CUDA_R_16BF;
  if (dtype == DType::float16) return CUDA_R_16F;
  if (dtype == DType::float8_e4m3fn) return CUDA_R_8F_E4M3;
  return CUDA_R_32F;
}

}  // namespace

Product::Product(const Workload& w, cublasLtHandle_t handle) : handle_(handle) {
  const BlasLt& lt = blas_lt();
  const cudaDataType_t type = type_of(w.dtype);
  require(lt.desc_create(&operation_, w.tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F, CUDA_R_32F),
          "describing the product");
  // The library counts column by column: C' = B' A' there is C = A B here. What lies row by row here is the other way
  // round there already; what lies column by column it turns.
  const auto operand = [&](bool turned, Count rows, Count columns, cublasLtMatrixLayout_t& layout,
                           cublasLtMatmulDescAttributes_t attribute) {
    const cublasOperation_t turn = turned ? CUBLAS_OP_T : CUBLAS_OP_N;
    require(lt.desc_set(operation_, attribute, &turn, sizeof turn), "an operand's order");
    const Count first = turned ? rows : columns, second = turned ? columns : rows;
    require(
        lt.layout_create(&layout, type, static_cast<std::uint64_t>(first), static_cast<std::uint64_t>(second), first),
        "a layout");
  };
  operand(w.b_turned, w.k, w.n, a_, CUBLASLT_MATMUL_DESC_TRANSA);
  operand(w.a_turned, w.m, w.k, b_, CUBLASLT_MATMUL_DESC_TRANSB);
  require(lt.layout_create(&c_, type_of(product_output(w.dtype)), static_cast<std::uint64_t>(w.n),
                           static_cast<std::uint64_t>(w.m), w.n),
          "a layout");
  const auto many = [&](cublasLtMatrixLayout_t layout, Count distance) {
    const auto batch = static_cast<std::int32_t>(w.batch);
    require(lt.layout_set(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch, sizeof batch), "a batch");
    require(lt.layout_set(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &distance, sizeof distance), "a batch");
  };
  if (w.batch > 1) {
    many(a_, w.k * w.n);
    many(b_, w.m * w.k);
    many(c_, w.m * w.n);
  }
  workspace_ = std::make_unique<DeviceMemory>(workspace_bytes);
  cublasLtMatmulPreference_t preference = nullptr;
  require(lt.preference_create(&preference), "a preference");
  lt.preference_set(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace_bytes, sizeof workspace_bytes);
  found_.resize(most_candidates);
  int count = 0;
  const cublasStatus_t status =
      lt.heuristic(handle_, operation_, a_, b_, c_, c_, preference, most_candidates, found_.data(), &count);
  lt.preference_destroy(preference);
  require(status, "choosing an algorithm");
  found_.resize(static_cast<std::size_t>(count));
  if (found_.empty()) throw Error(Exit::not_available, "cuBLASLt has no algorithm for this product");
}

Product::~Product() {
  const BlasLt& lt = blas_lt();
  for (cublasLtMatrixLayout_t layout : {a_, b_, c_}) {
    if (layout != nullptr) lt.layout_destroy(layout);
  }
  if (operation_ != nullptr) lt.desc_destroy(operation_);
}

void Product::run(const void* a, const void* b, void* c, cudaStream_t stream) const {
  const float one = 1, zero = 0;
  require(blas_lt().matmul(handle_, operation_, &one, b, a_, a, b_, &zero, c, c_, c, c_, &found_[chosen_].algo,
                           workspace_->at(0), workspace_bytes, stream),
          "the product");
}

}  // namespace llmcalc::cuda
