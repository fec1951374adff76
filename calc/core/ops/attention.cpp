#include "core/ops/attention.hpp"

#include <optional>

#include "core/ops/cast.hpp"
#include "core/ops/data.hpp"
#include "core/ops/views.hpp"

namespace llmcalc {
namespace {

constexpr Count flash_head_multiple = 8;      // flash pads the head size to it
constexpr Count efficient_lse_multiple = 32;  // the memory-efficient kernel pads its log-sum-exp rows
constexpr Count softmax_flops = 5;            // a pair, as in normalise.cpp

// FLOPs of one scored pair over all heads and sequences, for `qk` products of the size of q/k and `v` of v.
Count per_pair(const Tensor& q, const Tensor& v, Count qk_products, Count v_products) {
  return 2 * q.size(0) * q.size(1) * (qk_products * q.size(3) + v_products * v.size(3));
}

// How far back a query sees, as AttentionShape has it, where the pairs are those of a window; else nothing.
std::optional<Count> window_of(const ScorePairs& pairs, Count length) {
  if (pairs.causal_twice == pairs.full_twice) return 0;
  // With a window w, 2 w T - w^2 and w more: the diagonal's other half.
  const Count window = pairs.exact_twice - pairs.causal_twice;
  const bool fits = window > 0 && window <= length && pairs.causal_twice == window * (2 * length - window);
  return fits ? std::optional<Count>(window) : std::nullopt;
}

void count(Launch& launch, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& log_sums, bool backward,
           const ScorePairs& pairs, bool masked) {
  // Backward computes Q K^T once more, then the gradients of both products: 3 + 2 instead of 1 + 1.
  launch.flops_per_pair = backward ? per_pair(q, v, 3, 2) : per_pair(q, v, 1, 1);
  launch.model_flops_per_pair = backward ? per_pair(q, v, 2, 2) : launch.flops_per_pair;
  launch.pairs = pairs;
  launch.skips_masked = !masked;
  launch.elementwise = softmax_flops * q.size(0) * q.size(1) * (pairs.full_twice / 2);
  const std::optional<Count> window = window_of(pairs, q.size(2));
  launch.attention = {q.size(0), q.size(1), k.size(1),          window ? q.size(2) : 0,
                      q.size(3), v.size(3), window.value_or(0), log_sums.size(2)};
}

Tensors attention_back(Trace& t, const Node& node, const Tensors& kept, const Tensors& g) {
  const Tensor &q = kept[0], &k = kept[1], &v = kept[2];
  Tensors out(3);
  for (std::size_t i = 0; i < 3; ++i)
    out[i] = t.allocate(kept[i].dtype, {kept[i].shape(), strides_like(kept[i].layout), 0});
  Launch& launch =
      t.launch(Op::attention_backward, q.dtype, {&g[0], &q, &k, &v, &kept[3], &kept[4]}, {&out[0], &out[1], &out[2]});
  count(launch, q, k, v, kept[4], true, {node.numbers[0], node.numbers[1], node.numbers[2]}, node.numbers[3]);
  return out;
}

// The last axis filled up with zeros to a multiple of `multiple`.
Tensor padded(Trace& t, const Tensor& x, Count multiple) {
  const Count missing = (multiple - x.size(-1) % multiple) % multiple;
  if (missing == 0) return x;
  Dims shape = x.shape();
  shape[shape.rank() - 1] = missing;
  return cat(t, {x, constant(t, x.dtype, shape)}, -1);
}

}  // namespace

Tensor for_all_heads(Trace& t, const Tensor& x, Count heads) {
  if (x.size(1) == heads) return x;
  const Count repeats = heads / x.size(1);
  const Tensor spread = expand(t, unsqueeze(t, x, 2), {x.size(0), x.size(1), repeats, x.size(2), x.size(3)});
  return view(t, copy(t, spread), {x.size(0), heads, x.size(2), x.size(3)});
}

Tensor fused_attention(Trace& t, AttentionKernel kernel, const Tensor& query, const Tensor& key, const Tensor& value,
                       const Tensor* mask, const ScorePairs& pairs) {
  Tensor q = t.to_autocast(query), k = t.to_autocast(key), v = t.to_autocast(value);
  const Count heads = q.size(1), batch = q.size(0), length = q.size(2), value_size = v.size(3);
  if (kernel == AttentionKernel::efficient) {
    k = for_all_heads(t, k, heads);
    v = for_all_heads(t, v, heads);
  }
  if (kernel == AttentionKernel::flash) {
    q = padded(t, q, flash_head_multiple);
    k = padded(t, k, flash_head_multiple);
    v = padded(t, v, flash_head_multiple);
  }
  const Ref<Node> node = t.node(Op::attention_forward, attention_back, {&q, &k, &v});
  if (node) node->numbers = {pairs.full_twice, pairs.causal_twice, pairs.exact_twice, mask != nullptr};
  t.keep(node, q);
  t.keep(node, k);
  t.keep(node, v);
  // The efficient kernel writes token by token; the others follow the layout of q.
  const Dims shape{batch, heads, length, v.size(3)};
  const bool token_major = kernel == AttentionKernel::efficient;
  Tensor out = t.allocate(q.dtype, token_major ? transpose(Layout::contiguous({batch, length, heads, v.size(3)}), 1, 2)
                                               : Layout{shape, strides_like({shape, q.layout.stride, 0}), 0});
  const Count rows =
      kernel == AttentionKernel::efficient ? ceil_div(length, efficient_lse_multiple) * efficient_lse_multiple : length;
  const Tensor log_sums = t.allocate(DType::float32, {batch, heads, rows});
  // Seed and offset of the random numbers: 24 bytes for flash, 16 for the others.
  const Tensor random_state = t.allocate(DType::uint64, {kernel == AttentionKernel::flash ? 3 : 2});
  Launch& launch = t.launch(Op::attention_forward, q.dtype, {&q, &k, &v}, {&out, &log_sums});
  count(launch, q, k, v, log_sums, false, pairs, mask != nullptr);
  t.keep(node, out);
  t.keep(node, log_sums);
  t.keep(node, random_state);
  if (mask) t.keep(node, *mask);
  t.produced(node, out);
  return v.size(3) == value_size ? out : slice(t, out, 3, 0, value_size);
}

}  // namespace llmcalc
