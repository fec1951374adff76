// DeepSeek V3.2's choice of the keys a query sees: small heads score every key, and the best stay. Nothing here has a
// gradient; what is left is a mask of the layer's own.
#include <algorithm>

#include "core/ops/cast.hpp"
#include "core/ops/data.hpp"
#include "core/ops/elementwise.hpp"
#include "core/ops/experts.hpp"
#include "core/ops/matmul.hpp"
#include "core/ops/views.hpp"
#include "core/transformer/transformer.hpp"

namespace llmcalc {
namespace {

class Indexer {
 public:
  Indexer(Trace& t, const AttentionSpec& a, const AttentionWeights& w, const Tensor& x)
      : t_(t), a_(a), s_(*a.indexer), w_(w), x_(x), batch_(x.size(0)), length_(x.size(1)) {}

  // Scores all keys for all queries and takes the best.
  void choose(const Tensor& q_latent, const RotaryTables& tables, const ScorePairs& pairs, const Tensor& mask) const {
    Tensor q = view(t_, run_linear(t_, "wq_b", a_.linear, w_.index_q, q_latent), {batch_, length_, s_.heads, s_.size});
    Tensor k = run_linear(t_, "wk", a_.linear, w_.index_k, x_);
    k = unsqueeze(t_, run_norm(t_, "k_norm", s_.norm, w_.index_k_norm, k), 2);
    turn(q, k, tables);
    const Tensor keys = cast(t_, transpose(t_, squeeze(t_, k, 2), -1, -2), DType::float32);
    Tensor scores = matmul(t_, cast(t_, q, DType::float32), unsqueeze(t_, keys, 1), pairs);
    scores = relu(t_, mul(t_, scores, 1.0));
    Tensor weights = cast(t_, run_linear(t_, "weights_proj", a_.linear, w_.index_weights, x_), DType::float32);
    weights = mul(t_, weights, 1.0);
    scores = squeeze(t_, matmul(t_, unsqueeze(t_, weights, -2), scores, pairs), -2);
    if (mask.dtype != DType::boolean) scores = add(t_, scores, squeeze(t_, mask, 1));
    topk(t_, scores, std::min(s_.chosen, length_));
  }

 private:
  // q (B, T, heads, size) and k (B, T, 1, size): the first part of each head turns.
  void turn(Tensor& q, Tensor& k, const RotaryTables& tables) const {
    const Count turning = a_.latent->rotary_size;
    if (a_.rotary.style == RotaryStyle::none || turning > s_.size) return;
    const Tensors of_q = split(t_, q, {turning, s_.size - turning}, -1);
    const Tensors of_k = split(t_, k, {turning, s_.size - turning}, -1);
    Tensor q_turned = transpose(t_, of_q[0], 1, 2), k_turned = transpose(t_, of_k[0], 1, 2);
    apply_rotary(t_, {s_.rotary, turning, false}, tables, q_turned, k_turned);
    q = cat(t_, {transpose(t_, q_turned, 1, 2), of_q[1]}, -1);
    k = cat(t_, {transpose(t_, k_turned, 1, 2), of_k[1]}, -1);
  }

  Trace& t_;
  const AttentionSpec& a_;
  const IndexerSpec& s_;
  const AttentionWeights& w_;
  const Tensor& x_;
  Count batch_, length_;
};

}  // namespace

Tensor chosen_keys(Trace& t, const AttentionSpec& a, const AttentionWeights& w, const Tensor& x, const Tensor& q_latent,
                   const Shared& shared, const ScorePairs& pairs, const Tensor& mask) {
  const Trace::NoGrad no_grad(t);
  const Trace::Scope scope(t, "indexer");
  if (!a.indexer->shared) Indexer(t, a, w, x).choose(q_latent, shared.rotary[a.rotary_table], pairs, mask);
  const Dims square{x.size(0), 1, x.size(1), x.size(1)};
  const Tensor outside = constant(t, DType::boolean, square);
  return constant(t, mask.dtype, square);
}

}  // namespace llmcalc
