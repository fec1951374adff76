#include "core/blocks/attention.hpp"

#include <algorithm>

#include "core/blocks/math_attention.hpp"
#include "core/ops/cast.hpp"
#include "core/ops/data.hpp"
#include "core/ops/elementwise.hpp"
#include "core/ops/fused.hpp"
#include "core/ops/matmul.hpp"
#include "core/ops/normalise.hpp"
#include "core/ops/select.hpp"
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

Tensor softmaxed(Trace& t, const EagerStyle& style, Tensor weights, const Tensor& q, const Tensor& v) {
  switch (style.softmax) {
    case SoftmaxForm::float32: weights = softmax(t, weights, DType::float32); return cast(t, weights, q.dtype);
    case SoftmaxForm::plain: weights = softmax(t, weights); return cast(t, weights, v.dtype);
    case SoftmaxForm::float32_copy:
      weights = cast(t, weights, DType::float32);
      weights = softmax(t, weights);
      return cast(t, weights, v.dtype);
  }
  return weights;
}

// Scores with one more column of learned sinks, less their maximum, softmax, and the column dropped.
Tensor softmaxed_with_sinks(Trace& t, const Tensor& weights, const Tensor& sinks, DType v_dtype) {
  const Count batch = weights.size(0), heads = weights.size(1), length = weights.size(2);
  const Tensor column = expand(t, reshape(t, sinks, {1, heads, 1, 1}), {batch, heads, length, 1});
  Tensor joined = cat(t, {weights, column}, -1);
  joined = sub(t, joined, max_last(t, joined));
  const Tensor probabilities = softmax(t, joined, joined.dtype);
  return cast(t, slice(t, probabilities, -1, 0, weights.size(3)), v_dtype);
}

Attended eager(Trace& t, const Job& job, const AttentionTraits& traits, const EagerStyle& style, const Tensor& q,
               const Tensor& k, const Tensor& v, const AttentionExtras& extras, double dropout_rate) {
  const ScorePairs pairs = score_pairs(job, traits);
  const Tensor keys = repeat_kv(t, k, traits.heads), values = repeat_kv(t, v, traits.heads);
  Tensor weights;
  {
    const Trace::Scope scope(t, "scores");
    if (style.q_k_in_float32) {
      const Tensor q32 = cast(t, q, DType::float32), k32 = cast(t, keys, DType::float32);
      weights = matmul(t, q32, transpose(t, k32, -1, -2), pairs);
    } else {
      weights = matmul(t, q, transpose(t, keys, -1, -2), pairs);
    }
    if (style.scales && !t.settings.fused_kernels) weights = mul(t, weights, 1.0);
    if (style.softcap) {
      weights = div(t, weights, *style.softcap);
      weights = tanh(t, weights);
      weights = mul(t, weights, *style.softcap);
    }
    const bool masks_inside = t.settings.fused_kernels && !style.sinks;
    if (style.causal_from_buffer && !masks_inside) weights = masked_fill(t, weights, nullptr);
    if (extras.mask.defined() && !masks_inside) weights = add(t, weights, extras.mask);
  }
  if (t.settings.fused_kernels && !style.sinks) {
    const Trace::Scope scope(t, "softmax");
    weights = dropout(t, masked_softmax(t, weights), dropout_rate);
  } else {
    const Trace::Scope scope(t, "softmax");
    weights =
        style.sinks ? softmaxed_with_sinks(t, weights, extras.sinks, v.dtype) : softmaxed(t, style, weights, q, v);
    weights = dropout(t, weights, dropout_rate);
  }
  const Trace::Scope scope(t, "weighted_sum");
  Tensor output = matmul(t, weights, values, pairs);
  output = transpose(t, output, 1, 2);
  if (style.makes_contiguous) output = contiguous(t, output);
  return {output, weights};
}

// (B, heads, T, d) as (B * heads, T, d).
Tensor joined_heads(Trace& t, const Tensor& x) { return reshape(t, x, {x.size(0) * x.size(1), x.size(2), x.size(3)}); }

// Bloom: bias + q k^T in one batched product over all heads.
Attended batched_alibi(Trace& t, const Job& job, const AttentionTraits& traits, const Tensor& q, const Tensor& k,
                       const Tensor& v, const AttentionExtras& extras, double dropout_rate) {
  const ScorePairs pairs = score_pairs(job, traits);
  const Dims square{q.size(0), q.size(1), q.size(2), q.size(2)};
  const Tensor queries = joined_heads(t, q), keys = transpose(t, joined_heads(t, k), -1, -2),
               values = joined_heads(t, v);
  Tensor weights;
  {
    const Trace::Scope scope(t, "scores");
    const Tensor low_alibi = t.to_autocast(extras.alibi);
    weights = bmm(t, t.to_autocast(queries), t.to_autocast(keys), pairs);
    weights = view(t, weights, square);
    if (extras.mask.defined()) weights = add(t, weights, extras.mask);
  }
  {
    const Trace::Scope scope(t, "softmax");
    weights = softmax(t, weights, DType::float32);
    weights = cast(t, weights, q.dtype);
    weights = dropout(t, weights, dropout_rate);
  }
  const Trace::Scope scope(t, "weighted_sum");
  Tensor output = view(t, weights, {square[0] * square[1], square[2], square[3]});
  output = bmm(t, t.to_autocast(output), t.to_autocast(values), pairs);
  output = view(t, output, {square[0], square[1], square[2], v.size(3)});
  return {permute(t, output, {0, 2, 1, 3}), weights};
}

Attended falcon(Trace& t, const Job& job, const AttentionTraits& traits, const EagerStyle& style, const Tensor& q,
                const Tensor& k, const Tensor& v, const AttentionExtras& extras, double dropout_rate) {
  const ScorePairs pairs = score_pairs(job, traits);
  Tensor weights;
  {
    const Trace::Scope scope(t, "scores");
    weights = matmul(t, q, transpose(t, k, -1, -2), pairs);
    if (style.form == ScoreForm::falcon_alibi) {
      weights = cast(t, weights, DType::float32);
      weights = add(t, weights, extras.alibi);
    }
    weights = div_in_place(t, weights, 1.0);
    weights = add(t, weights, extras.mask);
  }
  {
    const Trace::Scope scope(t, "softmax");
    weights = softmax(t, weights, extras.hidden);
    if (style.form == ScoreForm::falcon_alibi) weights = dropout(t, weights, dropout_rate);
  }
  const Trace::Scope scope(t, "weighted_sum");
  const Tensor output = matmul(t, weights, v, pairs);
  return {permute(t, output, {0, 2, 1, 3}), weights};
}

Attended mpt(Trace& t, const Job& job, const AttentionTraits& traits, const EagerStyle& style, const Tensor& q,
             const Tensor& k, const Tensor& v, const AttentionExtras& extras, double dropout_rate) {
  const ScorePairs pairs = score_pairs(job, traits);
  Tensor weights;
  {
    const Trace::Scope scope(t, "scores");
    weights = matmul(t, q, transpose(t, k, -1, -2), pairs);
    weights = mul(t, weights, 1.0);
    weights = add(t, weights, extras.alibi);
    weights = masked_fill(t, weights, &extras.mask);
  }
  {
    const Trace::Scope scope(t, "softmax");
    weights = softmaxed(t, style, weights, q, v);
    weights = dropout(t, weights, dropout_rate);
  }
  const Trace::Scope scope(t, "weighted_sum");
  const Tensor output = matmul(t, weights, v, pairs);
  return {contiguous(t, permute(t, output, {0, 2, 1, 3})), weights};
}

// Scores, softmax and weighted sum by the kernel that was chosen.
Attended core(Trace& t, const Job& job, const AttentionTraits& traits, const EagerStyle& style, const Tensor& q,
              const Tensor& k, const Tensor& v, const AttentionExtras& extras, double dropout_rate);

}  // namespace

ScorePairs score_pairs(const Job& job, const AttentionTraits& traits) {
  if (job.lengths.empty() && !traits.chunk) return pairs_of_document(job.seq, traits.window, traits.causal);
  // Documents, and chunks of them, do not see one another; `full` still counts the whole square, as a kernel without
  // packing computes it.
  ScorePairs sum{checked::multiply<Count>(2, checked::multiply(job.seq, job.seq)), 0, 0};
  const auto add = [&](const ScorePairs& one, Count times) {
    sum.causal_twice += one.causal_twice * times;
    sum.exact_twice += one.exact_twice * times;
  };
  for (const Count length : job.lengths.empty() ? std::vector<Count>{job.seq} : job.lengths) {
    const Count chunk = traits.chunk.value_or(length);
    add(pairs_of_document(chunk, traits.window, traits.causal), length / chunk);
    add(pairs_of_document(length % chunk, traits.window, traits.causal), 1);
  }
  return sum;
}

bool needs_mask(const Job& job, const AttentionTraits& traits) {
  return traits.always_masked || !job.lengths.empty() || (traits.window && job.seq >= *traits.window) ||
         (traits.chunk && job.seq >= *traits.chunk);
}

Tensor attention_mask(Trace& t, const Job& job, const AttentionTraits& traits, DType dtype) {
  const Dims square{job.batch, 1, job.seq, job.seq};
  if (job.attention == AttentionKernel::eager) {
    // torch.where over the boolean rule.
    const Tensor allowed = constant(t, DType::boolean, {1, 1, job.seq, job.seq});
    return constant(t, dtype, square);
  }
  if (!needs_mask(job, traits)) return {};
  return expand(t, constant(t, DType::boolean, {1, 1, job.seq, job.seq}), square);
}

Tensor repeat_kv(Trace& t, const Tensor& x, Count heads) {
  const Count repeats = heads / x.size(1);
  if (repeats == 1) return x;
  const Tensor spread = expand(t, unsqueeze(t, x, 2), {x.size(0), x.size(1), repeats, x.size(2), x.size(3)});
  return reshape(t, spread, {x.size(0), heads, x.size(2), x.size(3)});
}

Attended attend(Trace& t, const Job& job, const AttentionTraits& traits, const EagerStyle& style, const Tensor& q,
                const Tensor& k, const Tensor& v, const AttentionExtras& extras, double dropout_rate) {
  if (job.recompute != Recompute::selective) return core(t, job, traits, style, q, k, v, extras, dropout_rate);
  const auto again = [=](Trace& trace, const Tensors& inputs) {
    return core(trace, job, traits, style, inputs[0], inputs[1], inputs[2], extras, dropout_rate).output;
  };
  return {t.checkpoint({q, k, v}, again), {}};
}

namespace {

Attended core(Trace& t, const Job& job, const AttentionTraits& traits, const EagerStyle& style, const Tensor& q,
              const Tensor& k, const Tensor& v, const AttentionExtras& extras, double dropout_rate) {
  const Tensor& mask = extras.mask;
  const AttentionKernel kernel =
      mask.defined() && job.attention != AttentionKernel::eager ? job.masked_attention : job.attention;
  if (kernel == AttentionKernel::eager || !traits.why_not_fused.empty()) {
    switch (style.form) {
      case ScoreForm::usual: return eager(t, job, traits, style, q, k, v, extras, dropout_rate);
      case ScoreForm::batched_alibi: return batched_alibi(t, job, traits, q, k, v, extras, dropout_rate);
      case ScoreForm::falcon:
      case ScoreForm::falcon_alibi: return falcon(t, job, traits, style, q, k, v, extras, dropout_rate);
      case ScoreForm::mpt: return mpt(t, job, traits, style, q, k, v, extras, dropout_rate);
    }
  }
  const Trace::Scope scope(t, "attention");
  // With a mask, or head sizes its grouped kernels do not take, the library repeats k and v before it calls any kernel.
  constexpr Count largest_grouped_head = 256;
  const bool repeats = mask.defined() || traits.qk_size != traits.v_size || traits.v_size > largest_grouped_head;
  const Tensor keys = repeats ? repeat_kv(t, k, traits.heads) : k;
  const Tensor values = repeats ? repeat_kv(t, v, traits.heads) : v;
  const ScorePairs pairs = score_pairs(job, traits);
  const Tensor mixed = kernel == AttentionKernel::math
                           ? math_attention(t, q, keys, values, mask, traits.causal, pairs, dropout_rate)
                           : fused_attention(t, kernel, q, keys, values, mask.defined() ? &mask : nullptr, pairs);
  return {contiguous(t, transpose(t, mixed, 1, 2)), {}};
}

}  // namespace

}  // namespace llmcalc
