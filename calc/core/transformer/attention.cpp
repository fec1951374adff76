// Attention of one layer: q, k and v out of their projections, their norms and rotation, the kernel, the output.
#include "core/ops/cast.hpp"
#include "core/ops/data.hpp"
#include "core/ops/elementwise.hpp"
#include "core/ops/matmul.hpp"
#include "core/ops/normalise.hpp"
#include "core/ops/select.hpp"
#include "core/ops/views.hpp"
#include "core/transformer/transformer.hpp"

namespace llmcalc {
namespace {

struct Qkv {
  Tensor q, k, v;  // (B, heads, T, size)
  Tensor gate;     // (B, T, heads * size), undefined where there is none
};

class Projection {
 public:
  Projection(Trace& t, const AttentionSpec& a, const AttentionWeights& w, const Tensor& x)
      : t_(t), a_(a), w_(w), x_(x), batch_(x.size(0)), length_(x.size(1)) {}

  Qkv run() const {
    switch (a_.qkv_form) {
      case QkvForm::separate: return separate();
      case QkvForm::slices:
      case QkvForm::split:
      case QkvForm::chunks: return rows_in_turn();
      case QkvForm::heads_of_qkv: return heads_of_qkv();
      case QkvForm::heads_select: return heads_select();
      case QkvForm::one_kv_last: return one_kv_last();
      case QkvForm::one_kv_split: return one_kv_split();
      case QkvForm::groups: return groups();
    }
    return {};
  }

 private:
  Tensor project(const std::string& name, const LinearWeights& w) const {
    Tensor y = run_linear(t_, name, a_.linear, w, x_);
    return a_.clips_qkv ? clamp(t_, y) : y;
  }

  // Rows (B, T, heads * size) as (B, heads, T, size), normalised where the family does.
  Tensor by_heads(Tensor rows, Count heads, Count size, const std::string& norm_name, const NormWeights& norm,
                  const std::vector<NormWeights>& head_norms) const {
    if (a_.qk_norm == QkNorm::all_heads) rows = run_norm(t_, norm_name, a_.q_k_norm, norm, rows);
    Tensor y = view(t_, rows, {batch_, length_, heads, size});
    const bool per_head = a_.qk_norm == QkNorm::per_head || a_.qk_norm == QkNorm::heads_by_size;
    const bool after_swap = a_.q_k_norm.kind == NormKind::layer;
    if (per_head && !after_swap) y = run_norm(t_, norm_name, a_.q_k_norm, norm, y);
    y = transpose(t_, y, 1, 2);
    if (per_head && after_swap) y = run_norm(t_, norm_name, a_.q_k_norm, norm, y);
    if (a_.qk_norm == QkNorm::norm_each_head) y = each_head_normed(norm_name, head_norms, y);
    return y;
  }

  Tensor each_head_normed(const std::string& name, const std::vector<NormWeights>& norms, const Tensor& x) const {
    Tensors heads = split(t_, x, std::vector<Count>(norms.size(), 1), 1);
    for (std::size_t i = 0; i < norms.size(); ++i) heads[i] = run_norm(t_, name, a_.q_k_norm, norms[i], heads[i]);
    return cat(t_, heads, 1);
  }

  Tensor q_heads(const Tensor& rows) const {
    return by_heads(rows, a_.heads, a_.qk_size, a_.q_norm_name, w_.q_norm, w_.q_head_norms);
  }
  Tensor k_heads(const Tensor& rows) const {
    return by_heads(rows, a_.kv_heads, a_.qk_size, a_.k_norm_name, w_.k_norm, w_.k_head_norms);
  }
  Tensor v_heads(const Tensor& rows) const {
    return transpose(t_, view(t_, rows, {batch_, length_, a_.kv_heads, a_.v_size}), 1, 2);
  }

  Qkv separate() const {
    Tensor q = project(a_.q_name, w_.q);
    if (a_.scales_q) q = mul(t_, q, 1.0);
    Tensor gate;
    if (a_.gates_output) {  // of each head q, then its gate
      const Tensors halves = chunk(t_, view(t_, q, {batch_, length_, a_.heads, 2 * a_.qk_size}), 2, -1);
      gate = reshape(t_, halves[1], {batch_, length_, a_.heads * a_.qk_size});
      q = halves[0];
    }
    q = q_heads(q);
    if (a_.reuses_kv) {  // an earlier layer's: here two tensors that are there
      const Dims shape{batch_, a_.kv_heads, length_, a_.qk_size};
      return {q, constant(t_, q.dtype, shape), constant(t_, q.dtype, shape), gate};
    }
    const Tensor k_rows = project(a_.k_name, w_.k);
    const Tensor k = k_heads(k_rows);
    Tensor v = v_heads(a_.v_is_k ? k_rows : project(a_.v_name, w_.v));
    if (a_.norms_v) v = norm(t_, a_.q_k_norm.kind, v, nullptr);
    return {q, k, v, gate};
  }

  Qkv rows_in_turn() const {
    const Tensor qkv = project(a_.qkv_name, w_.qkv);
    const Count q = a_.heads * a_.qk_size, k = a_.kv_heads * a_.qk_size, v = a_.kv_heads * a_.v_size;
    Tensors parts;
    if (a_.qkv_form == QkvForm::slices)
      parts = {slice(t_, qkv, -1, 0, q), slice(t_, qkv, -1, q, k), slice(t_, qkv, -1, q + k, v)};
    else
      parts = split(t_, qkv, {q, k, v}, -1);
    return {q_heads(parts[0]), k_heads(parts[1]), v_heads(parts[2]), {}};
  }

  Qkv heads_of_qkv() const {
    const Tensor qkv = view(t_, project(a_.qkv_name, w_.qkv), {batch_, length_, a_.heads, 3 * a_.qk_size});
    const Tensors parts = chunk(t_, transpose(t_, qkv, 1, 2), 3, -1);
    return {parts[0], parts[1], parts[2], {}};
  }

  Qkv heads_select() const {
    const Tensor qkv = view(t_, project(a_.qkv_name, w_.qkv), {batch_, length_, a_.heads, 3, a_.qk_size});
    const auto part = [&](Count i) { return transpose(t_, select(t_, qkv, -2, i), 1, 2); };
    const Tensor q = part(0), k = part(1);
    return {q, k, part(2), {}};
  }

  Qkv one_kv_last() const {
    const Tensor qkv = view(t_, project(a_.qkv_name, w_.qkv), {batch_, length_, a_.heads + 2, a_.qk_size});
    const Tensor q = slice(t_, qkv, -2, 0, a_.heads);
    const Tensor k = index_one(t_, qkv, -2, a_.heads), v = index_one(t_, qkv, -2, a_.heads + 1);
    return {transpose(t_, q, 1, 2), transpose(t_, k, 1, 2), transpose(t_, v, 1, 2), {}};
  }

  Qkv one_kv_split() const {
    const Tensor qkv = unsqueeze(t_, project(a_.qkv_name, w_.qkv), 1);
    const Tensors parts = split(t_, qkv, {a_.heads * a_.qk_size, a_.qk_size, a_.v_size}, 3);
    const Tensor q = view(t_, parts[0], {batch_, length_, a_.heads, a_.qk_size});
    return {transpose(t_, q, 1, 2), parts[1], parts[2], {}};
  }

  Qkv groups() const {
    const Count group = a_.heads / a_.kv_heads;
    const Tensor qkv = view(t_, project(a_.qkv_name, w_.qkv), {batch_, length_, a_.kv_heads, group + 2, a_.qk_size});
    const Tensor q = slice(t_, qkv, 3, 0, group);
    const Tensor k = index_one(t_, qkv, 3, group), v = index_one(t_, qkv, 3, group + 1);
    const Dims all_heads{batch_, length_, a_.heads, a_.qk_size};
    const auto flat = [&](const Tensor& x) {
      return transpose(t_, reshape(t_, expand(t_, x, q.shape()), all_heads), 1, 2);
    };
    const Tensor queries = flat(q), keys = flat(k);
    return {queries, keys, flat(v), {}};
  }

  Trace& t_;
  const AttentionSpec& a_;
  const AttentionWeights& w_;
  const Tensor& x_;
  Count batch_, length_;
};

// Latent attention: q, k and v by way of low ranks; a part of each q head, and one part shared by all k heads, turn.
// `q_latent` receives q's low-rank form, where it has one.
Qkv latent(Trace& t, const AttentionSpec& a, const AttentionWeights& w, const Tensor& x, const Shared& shared,
           Tensor& q_latent) {
  const LatentSpec& l = *a.latent;
  const Count batch = x.size(0), length = x.size(1);
  Tensor q;
  if (l.q_rank) {
    q = run_linear(t, "q_a_proj", a.linear, w.q_down, x);
    q_latent = run_norm(t, "q_a_layernorm", l.norm, w.q_down_norm, q);
    q = run_linear(t, "q_b_proj", a.linear, w.q_up, q_latent);
  } else {
    q = run_linear(t, "q_proj", a.linear, w.q, x);
  }
  q = transpose(t, view(t, q, {batch, length, a.heads, a.qk_size}), 1, 2);
  Tensors q_parts = split(t, q, {l.plain_size, l.rotary_size}, -1);
  const Tensor down = run_linear(t, "kv_a_proj_with_mqa", a.linear, w.kv_down, x);
  Tensors kv_parts = split(t, down, {l.kv_rank, l.rotary_size}, -1);
  Tensor kv = run_norm(t, "kv_a_layernorm", l.norm, w.kv_down_norm, kv_parts[0]);
  kv = view(t, kv, {batch, 1, length, l.kv_rank});
  Tensor k_turning = view(t, kv_parts[1], {batch, 1, length, l.rotary_size});
  {
    const Trace::Scope rotary(t, "rotary");
    apply_rotary(t, a.rotary, shared.rotary[a.rotary_table], q_parts[1], k_turning);
  }
  const Tensor queries = cat(t, {q_parts[0], q_parts[1]}, -1);
  kv = run_linear(t, "kv_b_proj", a.linear, w.kv_up, kv);
  kv = transpose(t, view(t, kv, {batch, length, a.heads, l.plain_size + a.v_size}), 1, 2);
  const Tensors k_and_v = split(t, kv, {l.plain_size, a.v_size}, -1);
  // Both parts are written into one new tensor of the projection's dtype.
  const Tensor turned = expand(t, cast(t, k_turning, kv.dtype), {batch, a.heads, length, l.rotary_size});
  return {queries, cat(t, {k_and_v[0], turned}, -1), k_and_v[1], {}};
}

Qkv low_rank(Trace& t, const AttentionSpec& a, const AttentionWeights& w, const Tensor& x) {
  const NormSpec& norm_spec = a.low_rank->norm;
  Tensor q = run_linear(t, "q_a_proj", a.linear, w.q_down, x);
  q = run_norm(t, "q_a_norm", norm_spec, w.q_down_norm, q);
  q = run_linear(t, "q_b_proj", a.linear, w.q_up, q);
  q = transpose(t, view(t, q, {x.size(0), x.size(1), a.heads, a.qk_size}), 1, 2);
  Tensor kv = run_linear(t, "kv_proj", a.linear, w.kv_down, x);
  kv = run_norm(t, "kv_norm", norm_spec, w.kv_down_norm, kv);
  kv = transpose(t, view(t, kv, {x.size(0), x.size(1), 1, a.qk_size}), 1, 2);
  return {q, kv, kv, {}};
}

// Rows (B, T, heads * size) in groups, each by its own matrix, side by side again.
Tensor down_in_groups(Trace& t, const AttentionSpec& a, const AttentionWeights& w, const Tensor& x) {
  const Trace::Scope scope(t, "o_a_proj");
  const Count groups = a.low_rank->out_groups, rank = a.low_rank->out_rank, rows = x.size(0) * x.size(1);
  const Count part = x.size(2) / groups;
  const Tensor grouped = transpose(t, view(t, x, {rows, groups, part}), 0, 1);
  const Tensor weight = transpose(t, view(t, t.parameter(w.out_down.weight), {groups, rank, part}), 1, 2);
  const Tensor y = transpose(t, matmul(t, grouped, weight), 0, 1);
  return reshape(t, y, {x.size(0), x.size(1), groups * rank});
}

}  // namespace

Tensor run_attention(Trace& t, const Job& job, const AttentionSpec& a, const AttentionWeights& w,
                     const AttentionTraits& traits, const Tensor& x, const Shared& shared, const Tensor& mask,
                     Tensor& probabilities) {
  const Trace::Scope scope(t, a.name);
  Tensor q_latent;
  Qkv qkv = a.latent     ? latent(t, a, w, x, shared, q_latent)
            : a.low_rank ? low_rank(t, a, w, x)
                         : Projection(t, a, w, x).run();
  if (!a.latent && a.rotary.style != RotaryStyle::none) {
    const RotaryTables own =
        a.rotary.own_tables ? rotary_tables(t, a.rotary.style, job.seq, a.rotary.size, qkv.v.dtype) : RotaryTables();
    const Trace::Scope rotary(t, "rotary");
    apply_rotary(t, a.rotary, a.rotary.own_tables ? own : shared.rotary[a.rotary_table], qkv.q, qkv.k);
  }
  if (a.qk_norm == QkNorm::after_rotary) {
    qkv.q = norm(t, NormKind::rms, qkv.q, nullptr);
    qkv.k = norm(t, NormKind::rms, qkv.k, nullptr);
  }
  if (a.tunes_temperature)
    qkv.q = cast(t, mul(t, qkv.q, constant(t, DType::float32, {1, 1, x.size(1), 1})), qkv.q.dtype);
  AttentionExtras extras{mask, shared.alibi, {}, x.dtype};
  if (a.indexer)
    extras.mask = chosen_keys(t, a, w, x, q_latent.defined() ? q_latent : x, shared, score_pairs(job, traits), mask);
  q_latent = {};
  if (a.scores.sinks) extras.sinks = t.parameter(w.sinks);
  Attended mixed = attend(t, job, traits, a.scores, qkv.q, qkv.k, qkv.v, extras, job.rate(a.dropout));
  const Tensor gate = qkv.gate;
  qkv = {};
  probabilities = mixed.weights;
  Tensor output = reshape(t, mixed.output, {x.size(0), x.size(1), a.heads * a.v_size});
  mixed.output = {};
  if (gate.defined()) output = mul(t, output, sigmoid(t, gate));
  if (a.low_rank) output = down_in_groups(t, a, w, output);
  output = run_linear(t, a.out_name, a.linear, w.out, output);
  return dropout(t, output, job.rate(a.out_dropout));
}

}  // namespace llmcalc
