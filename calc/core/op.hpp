// The operations a trace is made of, and the record each launch of one leaves on the tape.
#pragma once

#include <string_view>

#include "core/dtype.hpp"
#include "core/ledger.hpp"
#include "core/units.hpp"

namespace llmcalc {

// clang-format off
enum class Op : unsigned char {
  // matrix products, and the recurrence of a state-space or linear-attention layer
  mm, addmm, bmm, baddbmm, grouped_mm, convolution, scan, attention_forward, attention_backward,
  // element-wise and reductions
  add, sub, mul, div, neg, pow, rsqrt, sqrt, exp, log, tanh, sigmoid, silu, gelu, relu, softplus, clamp, where, cast, copy,
  fill, sum, mean, max, cos, sin, softmax, log_softmax, dropout, layer_norm, rms_norm, gated_activation,
  // data movement and look-ups
  cat, embedding, gather, scatter, index, topk, sort, cumsum, nll_loss, fused_cross_entropy,
  // optimizer
  optimizer,
  // views: no kernel, but a node
  view, transpose, expand, slice, split, select, permute, accumulate, checkpoint,
};
// clang-format on

std::string_view name_of(Op op);
bool is_matrix_product(Op op);

// How many (query, key) pairs attention scores, per counting. Doubled, because T^2/2 can be fractional.
struct ScorePairs {
  Count full_twice = 0;    // 2 * T^2: every pair
  Count causal_twice = 0;  // T^2, or 2*w*T - w^2 with a window w <= T
  Count exact_twice = 0;   // 2 * sum over i of min(i, w)

  friend ScorePairs operator*(ScorePairs pairs, Count n) {
    return {checked::multiply(pairs.full_twice, n), checked::multiply(pairs.causal_twice, n),
            checked::multiply(pairs.exact_twice, n)};
  }
};

enum class AttentionCounting { causal, causal_exact, full };

// Which gradient a backward launch computes; model FLOPs count only the gradients, not what is computed again.
enum class Pass : unsigned char { forward, backward, recompute, optimizer };

// What a fused attention kernel works on. A query sees the keys from `window` - 1 before its own place to its own, all
// of them where `window` is 0. No length: a mask of another kind (packed documents, chunks) says which.
struct AttentionShape {
  Count batch = 0, heads = 0, kv_heads = 0, length = 0, qk_size = 0, v_size = 0;
  Count window = 0;
  Count log_sum_rows = 0;  // a head's, padding included
};

// One launch (or `repeat` equal ones, from layers alike).
struct Launch {
  Op op = Op::add;
  Pass pass = Pass::forward;
  Phase phase = Phase::forward;
  DType dtype = DType::float32;  // of the arithmetic
  std::uint16_t module = 0;      // where in the model: index into Trace::modules()
  Count repeat = 1;
  // Matrix product: `batch` products of (m, k) x (k, n). Attention has its own fields instead.
  Count batch = 0, m = 0, n = 0, k = 0;
  bool a_turned = false, b_turned = false;  // that operand lies column by column
  Count row_alignment = 16;                 // bytes, at most 16: what the rows of all operands start at a multiple of
  // Attention: FLOPs per scored pair (2 * (head size of q/k + of v) * heads ...) and the pairs. For eager attention
  // each of the two products is a bmm that also carries its pairs. Convolutions and scans: FLOPs per token, as a pair.
  Count flops_per_pair = 0;
  Count model_flops_per_pair = 0;  // without what a fused backward computes again
  ScorePairs pairs;
  bool skips_masked = false;  // a fused causal kernel; eager products execute the full square
  AttentionShape attention;   // of a fused kernel
  Count elementwise = 0;      // FLOPs that are no matrix products
  Bytes read, written;
};

bool is_fused_attention(Op op);

// How the operands of a product lie: N row by row, T column by column; A's letter first. Empty for anything else.
std::string_view layout_of(const Launch& launch);

// 2*M*N*K for every product, or attention by the given counting.
Flops model_flops(const Launch& launch, AttentionCounting counting);
// What runs: the full square where the kernel computes it.
Flops executed_flops(const Launch& launch, AttentionCounting counting);
// Of one launch, and the least that any kernel executes: attention by its exact pairs.
Flops least_flops(const Launch& launch);

}  // namespace llmcalc
