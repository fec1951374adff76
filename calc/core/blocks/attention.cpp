#include "core/blocks/attention.hpp"

#include <algorithm>

#include "core/ops/cast.hpp"
#include "core/ops/data.hpp"
#include "core/ops/elementwise.hpp"
#include "core/ops/matmul.hpp"
#include "core/ops/normalise.hpp"
#include "core/ops/views.hpp"

namespace llmcalc {
namespace {

ScorePairs pairs_of_document(Count length, std::optional<Count> window, bool causal) {
  const Count all = checked::multiply(length, length);
  ScorePairs pairs;
  pairs.full_twice = checked::multiply<Count>(2, all);
  if (!causal) {
    pairs.causal_twice = pairs.exact_twice = pairs.full_twice;
    return pairs;
  }
  const Count w = std::min(window.value_or(length), length);
  pairs.causal_twice = 2 * w * length - w * w;
  // Sum over i = 1..length of min(i, w), doubled: a triangle of w rows, then w for each row left.
  pairs.exact_twice = w * (w + 1) + 2 * w * (length - w);
  return pairs;
}

Attended eager(Trace& t, const Job& job, const AttentionTraits& traits, const EagerStyle& style, const Tensor& q,
               const Tensor& k, const Tensor& v, const Tensor& mask, double dropout_rate) {
  const ScorePairs pairs = score_pairs(job, traits);
  const Tensor keys = repeat_kv(t, k, traits.heads), values = repeat_kv(t, v, traits.heads);
  Tensor weights;
  {
    const Trace::Scope scope(t, "scores");
    weights = matmul(t, q, transpose(t, keys, -1, -2), pairs);
    weights = mul(t, weights, 1.0);
    if (mask.defined()) weights = add(t, weights, mask);
  }
  {
    const Trace::Scope scope(t, "softmax");
    if (style.softmax_in_float32) {
      weights = softmax(t, weights, DType::float32);
      weights = cast(t, weights, q.dtype);
    } else {
      weights = softmax(t, weights);
      weights = cast(t, weights, v.dtype);
    }
    weights = dropout(t, weights, dropout_rate);
  }
  const Trace::Scope scope(t, "weighted_sum");
  Tensor output = matmul(t, weights, values, pairs);
  output = transpose(t, output, 1, 2);
  if (style.makes_contiguous) output = contiguous(t, output);
  return {output, weights};
}

}  // namespace

ScorePairs score_pairs(const Job& job, const AttentionTraits& traits) {
  if (job.lengths.empty()) return pairs_of_document(job.seq, traits.window, traits.causal);
  // Documents do not see one another; `full` still counts the whole square, as a kernel without packing computes it.
  ScorePairs sum{checked::multiply<Count>(2, checked::multiply(job.seq, job.seq)), 0, 0};
  for (const Count length : job.lengths) {
    const ScorePairs one = pairs_of_document(length, traits.window, traits.causal);
    sum.causal_twice += one.causal_twice;
    sum.exact_twice += one.exact_twice;
  }
  return sum;
}

bool needs_mask(const Job& job, std::optional<Count> window) {
  return !job.lengths.empty() || (window && job.seq >= *window);
}

Tensor attention_mask(Trace& t, const Job& job, std::optional<Count> window, DType dtype) {
  const Dims square{job.batch, 1, job.seq, job.seq};
  if (job.attention == AttentionKernel::eager) {
    // torch.where over the boolean rule.
    const Tensor allowed = constant(t, DType::boolean, {1, 1, job.seq, job.seq});
    return constant(t, dtype, square);
  }
  if (!needs_mask(job, window)) return {};
  return expand(t, constant(t, DType::boolean, {1, 1, job.seq, job.seq}), square);
}

Tensor repeat_kv(Trace& t, const Tensor& x, Count heads) {
  const Count repeats = heads / x.size(1);
  if (repeats == 1) return x;
  const Tensor spread = expand(t, unsqueeze(t, x, 2), {x.size(0), x.size(1), repeats, x.size(2), x.size(3)});
  return reshape(t, spread, {x.size(0), heads, x.size(2), x.size(3)});
}

Attended attend(Trace& t, const Job& job, const AttentionTraits& traits, const EagerStyle& style, const Tensor& q,
                const Tensor& k, const Tensor& v, const Tensor& mask, double dropout_rate) {
  const AttentionKernel kernel = mask.defined() && job.attention != AttentionKernel::eager ? job.masked_attention : job.attention;
  if (kernel == AttentionKernel::eager || !traits.why_not_fused.empty())
    return eager(t, job, traits, style, q, k, v, mask, dropout_rate);
  const Trace::Scope scope(t, "attention");
  // With a mask the library repeats k and v before it calls any kernel.
  const Tensor keys = mask.defined() ? repeat_kv(t, k, traits.heads) : k;
  const Tensor values = mask.defined() ? repeat_kv(t, v, traits.heads) : v;
  const Tensor mixed =
      fused_attention(t, kernel, q, keys, values, mask.defined() ? &mask : nullptr, score_pairs(job, traits));
  return {contiguous(t, transpose(t, mixed, 1, 2)), {}};
}

}  // namespace llmcalc
