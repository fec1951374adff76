#include "core/transformer/transformer.hpp"

#include <algorithm>

#include "core/ops/cast.hpp"
#include "core/ops/data.hpp"
#include "core/ops/elementwise.hpp"
#include "core/ops/normalise.hpp"
#include "core/ops/select.hpp"
#include "core/ops/views.hpp"

namespace llmcalc {
namespace {

AttentionTraits traits_of(const AttentionSpec& a) {
  AttentionTraits traits;
  traits.heads = a.heads;
  traits.kv_heads = a.kv_heads;
  traits.qk_size = a.qk_size;
  traits.v_size = a.v_size;
  traits.window = a.window;
  traits.chunk = a.chunk;
  traits.cached = a.causal;
  traits.cache_has_window = a.cache_has_window;
  if (a.latent) traits.latent_cache = a.latent->kv_rank + a.latent->rotary_size;
  if (a.indexer && !a.indexer->shared) traits.latent_cache += a.indexer->size;  // the keys it chooses by
  traits.causal = a.causal;
  traits.why_not_fused = a.why_not_fused;
  traits.always_masked =
      a.always_masked || a.scores.form == ScoreForm::falcon || a.scores.form == ScoreForm::falcon_alibi;
  return traits;
}

void add_states(ModelInfo& info, const SequenceState& one, Count layers) {
  info.recurrent.convolution += checked::multiply(one.convolution, layers);
  info.recurrent.recurrence += checked::multiply(one.recurrence, layers);
}

bool alike(const AttentionTraits& a, const AttentionTraits& b) {
  return a.heads == b.heads && a.kv_heads == b.kv_heads && a.qk_size == b.qk_size && a.v_size == b.v_size &&
         a.window == b.window && a.chunk == b.chunk && a.causal == b.causal && a.latent_cache == b.latent_cache &&
         a.why_not_fused == b.why_not_fused;
}

bool same_mask(const AttentionTraits& a, const AttentionTraits& b) {
  return a.window == b.window && a.chunk == b.chunk;
}

}  // namespace

Transformer::Transformer(TransformerSpec spec) : spec_(std::move(spec)) {
  for (std::vector<LayerSpec>* layers : {&spec_.kinds, &spec_.prediction.layers})
    for (LayerSpec& layer : *layers)
      if (AttentionSpec& a = layer.attention; !can_turn(a.rotary.size, a.qk_size)) a.rotary.style = RotaryStyle::none;
  weights_ = add_parameters(parameters, spec_);
  describe();
  if (spec_.prediction.depths == 0) return;
  with_prediction = parameters;
  prediction_ = add_prediction(*with_prediction, spec_);
}

void Transformer::describe() {
  info.architecture = spec_.architecture;
  info.hidden = spec_.hidden;
  info.layers = static_cast<Count>(spec_.pattern.size());
  info.vocabulary = spec_.vocabulary;
  info.max_seq = spec_.max_seq;
  for (std::size_t i = 0; i < spec_.kinds.size(); ++i) {
    const LayerSpec& kind = spec_.kinds[i];
    traits_.push_back(kind.has_attention ? traits_of(kind.attention) : AttentionTraits());
    const Count layers = std::count(spec_.pattern.begin(), spec_.pattern.end(), static_cast<int>(i));
    if (kind.experts && layers > 0) info.mixture_of_experts = true;
    if (kind.mixer) add_states(info, kind.mixer->state(), layers);
    if (!kind.has_attention || layers == 0) continue;
    const auto known = std::find_if(info.attention.begin(), info.attention.end(),
                                    [&](const AttentionTraits& traits) { return alike(traits, traits_.back()); });
    if (known != info.attention.end()) {
      known->layers += layers;
    } else {
      info.attention.push_back(traits_.back());
      info.attention.back().layers = layers;
    }
  }
  for (const LayerSpec& layer : spec_.prediction.layers) {
    prediction_traits_.push_back(layer.has_attention ? traits_of(layer.attention) : AttentionTraits());
    if (!layer.has_attention) continue;
    info.prediction_attention.push_back(prediction_traits_.back());
    info.prediction_attention.back().layers = spec_.prediction.depths;
  }
  const bool stored_tables = spec_.kinds.front().attention.rotary.style == RotaryStyle::pairs_by_token;
  // PyTorch 2.15 and transformers 5.24 raise on longer sequences (GPT-2, OPT, BERT; GPT-J; MPT), and not with the
  // others.
  if (spec_.positions > 0) info.positions_from = "learned positions";
  if (stored_tables && !spec_.rotary_sizes.empty()) info.positions_from = "stored rotary positions";
  if (spec_.alibi == "mpt") info.positions_from = "stored position biases";
  for (const Count size : spec_.rotary_sizes) {
    if (stored_tables) {
      parameters.buffers().push_back({spec_.base + "rotary_emb.embed_positions", Bytes(4 * size) * spec_.max_seq});
      continue;
    }
    add_frequencies(parameters, spec_.base + "rotary_emb.", size);
  }
}

Tensor Transformer::embed(Trace& t, const Job& job, const Tensor& ids, Tensor& held) const {
  const Trace::Scope scope(t, spec_.embedding_name);
  Tensor hidden = embedding(t, ids, t.parameter(weights_.embedding));
  if (spec_.embedding_multiplier) hidden = mul(t, hidden, *spec_.embedding_multiplier);
  Tensor positions;
  if (weights_.positions >= 0) {
    const Tensor position_ids = constant(t, DType::int64, {spec_.position_ids_per_sequence ? job.batch : 1, job.seq});
    positions = embedding(t, position_ids, t.parameter(weights_.positions));
  }
  if (weights_.project_in.weight >= 0)
    hidden = run_linear(t, spec_.project_in_name, LinearForm::linear, weights_.project_in, hidden);
  held = hidden;
  if (positions.defined()) hidden = add(t, hidden, positions);
  if (spec_.embedding_norm.exists())
    hidden = run_norm(t, spec_.embedding_norm.name, spec_.embedding_norm.norm, weights_.embedding_norm, hidden);
  return dropout(t, hidden, job.rate(spec_.embedding_dropout));
}

Shared Transformer::share(Trace& t, const Job& job, const Tensor& hidden) const {
  return share_among(t, job, hidden, spec_.kinds, traits_);
}

Shared Transformer::share_among(Trace& t, const Job& job, const Tensor& hidden, const std::vector<LayerSpec>& kinds,
                                const std::vector<AttentionTraits>& traits) const {
  Shared shared;
  const Trace::NoGrad no_grad(t);
  const AttentionSpec& first = kinds.front().attention;
  if (!spec_.alibi.empty()) {
    const bool stored_whole = first.scores.form == ScoreForm::mpt;  // for the longest sequence, in float32
    shared.alibi = stored_whole ? constant(t, DType::float32, {first.heads, 1, std::max(spec_.max_seq, job.seq)})
                                : constant(t, hidden.dtype, {job.batch * first.heads, 1, job.seq});
    if (stored_whole) shared.alibi = slice(t, shared.alibi, -1, shared.alibi.size(-1) - job.seq, job.seq);
    if (first.scores.form == ScoreForm::falcon_alibi)
      shared.alibi = view(t, shared.alibi, {job.batch, first.heads, 1, job.seq});
  }
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    Tensor mask;
    if (kinds[i].has_attention) {
      std::size_t same = 0;
      while (same < i && !(kinds[same].has_attention && same_mask(traits[same], traits[i]))) ++same;
      mask = same < i ? shared.masks[same] : attention_mask(t, job, traits[i], hidden.dtype);
    }
    shared.masks.push_back(mask);
  }
  if (first.scores.form == ScoreForm::mpt) shared.masks.front() = cast(t, shared.masks.front(), DType::boolean);
  if (first.scores.form == ScoreForm::falcon_alibi)
    shared.masks.front() = constant(t, hidden.dtype, {job.batch, first.heads, job.seq, job.seq});
  for (std::size_t i = 0; i < spec_.rotary_sizes.size(); ++i) {
    const auto user = std::find_if(kinds.begin(), kinds.end(), [&](const LayerSpec& kind) {
      return kind.has_attention && kind.attention.rotary_table == i && kind.attention.rotary.style != RotaryStyle::none;
    });
    shared.rotary.push_back(user == kinds.end() ? RotaryTables()
                                                : rotary_tables(t, user->attention.rotary.style, job.seq,
                                                                spec_.rotary_sizes[i], hidden.dtype));
  }
  return shared;
}

Tensor Transformer::mask_kept_by_recomputation(const Shared& shared) const {
  return spec_.mask_is_kept_by_recomputation ? shared.masks.front() : Tensor();
}

Tensor Transformer::layer(Trace& t, const Job& job, Count index, const Tensor& input, const Shared& shared) const {
  const auto kind = static_cast<std::size_t>(spec_.pattern[static_cast<std::size_t>(index)]);
  return run_layer(t, job, spec_.kinds[kind], weights_.kinds[kind], traits_[kind], input, shared, shared.masks[kind]);
}

Tensor run_layer(Trace& t, const Job& job, const LayerSpec& s, const LayerWeights& w, const AttentionTraits& traits,
                 const Tensor& input, const Shared& shared, const Tensor& mask) {
  Tensor probabilities;  // alive to the end of the layer
  const auto normed = [&](const NamedNorm& norm, const NormWeights& weights, const Tensor& x) {
    return norm.exists() ? run_norm(t, norm.name, norm.norm, weights, x) : x;
  };
  const auto mixed = [&](const Tensor& x) {
    if (s.mixer) return s.mixer->run(t, job, x);
    return run_attention(t, job, s.attention, w.attention, traits, x, shared, mask, probabilities);
  };
  const auto fed = [&](const Tensor& x) {
    return s.experts ? run_experts(t, job, *s.experts, w.experts, x) : run_mlp(t, job, s.mlp, w.mlp, x);
  };
  // The MLP of `x` and the experts of `residual`, each behind norms of its own.
  const auto fed_both = [&](const Tensor& x, const Tensor& residual) {
    Tensor dense = run_mlp(t, job, s.mlp, w.mlp, x);
    dense = normed(s.after_dense, w.after_dense, dense);
    Tensor routed = normed(s.before_experts, w.before_experts, residual);
    routed = run_experts(t, job, *s.experts, w.experts, routed);
    routed = normed(s.after_experts, w.after_experts, routed);
    return add(t, dense, routed);
  };
  const auto scaled = [&](const Tensor& x) { return s.residual_multiplier ? mul(t, x, *s.residual_multiplier) : x; };

  if (s.form == BlockForm::parallel) {
    const Tensor first = normed(s.before_attention, w.before_attention, input);
    const Tensor attended = mixed(first);
    const Tensor second = s.before_mlp.exists() ? normed(s.before_mlp, w.before_mlp, input) : first;
    Tensor hidden = fed(second);
    if (s.adds_in_place) {
      hidden = add_in_place(t, hidden, attended);
      return add(t, input, dropout(t, hidden, job.rate(s.residual_dropout)));
    }
    hidden = add(t, attended, hidden);
    return add(t, hidden, input);
  }

  const bool norm_last = s.form == BlockForm::norm_after_add;
  Tensor residual = input;
  Tensor hidden = norm_last ? residual : normed(s.before_attention, w.before_attention, residual);
  if (s.residual_is_normed) residual = hidden;
  hidden = mixed(hidden);
  hidden = normed(s.after_attention, w.after_attention, hidden);
  hidden = scaled(hidden);
  hidden = add(t, residual, hidden);
  if (s.mlp.inner == 0 && !s.experts) return hidden;
  if (norm_last) hidden = normed(s.before_attention, w.before_attention, hidden);
  residual = hidden;
  if (!norm_last) hidden = normed(s.before_mlp, w.before_mlp, residual);
  if (s.residual_is_normed) residual = hidden;
  hidden = s.experts && s.mlp.inner > 0 ? fed_both(hidden, residual) : fed(hidden);
  hidden = normed(s.after_mlp, w.after_mlp, hidden);
  hidden = scaled(hidden);
  hidden = add(t, residual, hidden);
  return norm_last ? normed(s.before_mlp, w.before_mlp, hidden) : hidden;
}

Tensor Transformer::finish(Trace& t, const Job&, const Tensor& input) const {
  Tensor hidden = input;
  if (spec_.final_norm.exists())
    hidden = run_norm(t, spec_.final_norm.name, spec_.final_norm.norm, weights_.final_norm, hidden);
  if (weights_.project_out.weight >= 0)
    hidden = run_linear(t, spec_.project_out_name, LinearForm::linear, weights_.project_out, hidden);
  return hidden;
}

Tensor Transformer::head(Trace& t, const Job&, const Tensor& hidden) const {
  Tensor logits = run_linear(t, spec_.head_name, LinearForm::linear, weights_.head, hidden);
  if (spec_.logit_scale) logits = mul(t, logits, *spec_.logit_scale);
  if (spec_.logit_softcap) {
    logits = div(t, logits, *spec_.logit_softcap);
    logits = tanh(t, logits);
    logits = mul(t, logits, *spec_.logit_softcap);
  }
  return logits;
}

// As the library's MtpLayer runs one, over all tokens: those whose next token lies beyond the sequence too.
Tensors Transformer::predict_further(Trace& t, const Job& job, const Tensor& last) const {
  const PredictionSpec& p = spec_.prediction;
  Tensors found;
  const Trace::Scope scope(t, "mtp");
  for (Count depth = 0; depth < p.depths; ++depth) {
    const int instance = static_cast<int>(info.layers + depth) + 1;
    const auto normed = [&](const NamedNorm& norm, const NormWeights& w, const Tensor& x) {
      if (!norm.exists()) return finish(t, job, x);
      if (p.shared_prefix.empty()) t.layer_instance = instance;
      Tensor y = run_norm(t, norm.name, norm.norm, w, x);
      t.layer_instance = 0;
      return y;
    };
    Tensor held;
    const Tensor embedded = embed(t, job, constant(t, DType::int64, {job.batch, job.seq}), held);
    const Shared shared = share_among(t, job, embedded, p.layers, prediction_traits_);
    Tensor hidden = cat(t,
                        {normed(p.of_embedding, prediction_.of_embedding, embedded),
                         normed(p.of_hidden, prediction_.of_hidden, found.empty() ? last : found.back())},
                        -1);
    const Tensor joined = hidden;  // a name of the library's function, alive to its end
    if (p.shared_prefix.empty()) t.layer_instance = instance;
    hidden = run_linear(t, p.projection_name, LinearForm::linear, prediction_.projection, joined);
    t.layer_instance = 0;
    for (std::size_t i = 0; i < p.layers.size(); ++i) {
      const auto one_layer = [this, job, i, instance, shared](Trace& trace, const Tensors& inputs) {
        trace.layer_instance = instance;
        Tensor out = run_layer(trace, job, spec_.prediction.layers[i], prediction_.layers[i], prediction_traits_[i],
                               inputs.front(), shared, shared.masks[i]);
        trace.layer_instance = 0;
        return out;
      };
      hidden = job.recompute == Recompute::full ? t.checkpoint({hidden}, one_layer) : one_layer(t, {hidden});
    }
    found.push_back(normed(p.last, prediction_.last, hidden));
  }
  return found;
}

std::unique_ptr<Model> make_transformer(TransformerSpec spec) { return std::make_unique<Transformer>(std::move(spec)); }

}  // namespace llmcalc
