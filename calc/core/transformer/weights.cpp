#include "core/transformer/weights.hpp"

#include <algorithm>

namespace llmcalc {
namespace {

std::string layers_prefix(const TransformerSpec& spec) { return spec.base + spec.layers_name + "."; }

class Registrar {
 public:
  Registrar(Parameters& p, const TransformerSpec& spec) : p_(p), spec_(spec) {}

  NormWeights add_norm(const NamedNorm& norm, Dims shape, const std::string& prefix = {}) {
    if (!norm.exists()) return {};
    return add_norm(prefix + norm.name, norm.norm, shape);
  }

  NormWeights add_norm(const std::string& name, const NormSpec& norm, const Dims& shape) {
    NormWeights w;
    if (norm.weight) w.weight = p_.add(name + ".weight", shape);
    if (norm.bias) w.bias = p_.add(name + ".bias", shape);
    return w;
  }

  LinearWeights add(LinearForm form, const std::string& name, Count in, Count out, bool bias) {
    LinearWeights w;
    w.weight = p_.add(name + ".weight", form == LinearForm::conv1d ? Dims{in, out} : Dims{out, in});
    if (bias) w.bias = p_.add(name + ".bias", {out});
    return w;
  }

  AttentionWeights add_attention(const AttentionSpec& a) {
    const Parameters::Within half(p_, Half::attention);
    AttentionWeights w;
    const std::string prefix = a.name + ".";
    const Count hidden = spec_.hidden;
    const Count q_rows = a.heads * a.qk_size, k_rows = a.kv_heads * a.qk_size, v_rows = a.kv_heads * a.v_size;
    if (a.low_rank) {
      add_low_rank(w, a, prefix);
      return w;
    }
    if (a.latent) {
      add_latent(w, a, prefix);
    } else if (a.qkv_form == QkvForm::separate) {
      w.q = add(a.linear, prefix + a.q_name, hidden, a.gates_output ? 2 * q_rows : q_rows, a.qkv_bias);
      if (!a.reuses_kv) w.k = add(a.linear, prefix + a.k_name, hidden, k_rows, a.qkv_bias);
      if (!a.reuses_kv && !a.v_is_k) w.v = add(a.linear, prefix + a.v_name, hidden, v_rows, a.qkv_bias);
    } else {
      w.qkv = add(a.linear, prefix + a.qkv_name, hidden, q_rows + k_rows + v_rows, a.qkv_bias);
    }
    w.out = add(a.linear, prefix + a.out_name, a.heads * a.v_size, hidden, a.out_bias);
    if (a.scores.sinks) w.sinks = p_.add(prefix + "sinks", {a.heads});
    add_qk_norms(w, a, prefix);
    return w;
  }

  MlpWeights add_mlp(const MlpSpec& m, const std::string& prefix) {
    const Parameters::Within half(p_, Half::mlp);
    MlpWeights w;
    const Count hidden = spec_.hidden;
    if (m.gated && m.fused) {
      w.gate_up = add(m.linear, prefix + m.gate_up_name, hidden, 2 * m.inner, m.up_bias);
    } else {
      if (m.gated) w.gate = add(m.linear, prefix + m.gate_name, hidden, m.inner, m.up_bias);
      w.up = add(m.linear, prefix + m.up_name, hidden, m.inner, m.up_bias);
    }
    w.down = add(m.linear, prefix + m.down_name, m.inner, hidden, m.down_bias);
    if (m.activation == Activation::xielu) {
      w.alpha_p = p_.add(prefix + "act_fn.alpha_p", {1});
      w.alpha_n = p_.add(prefix + "act_fn.alpha_n", {1});
    }
    return w;
  }

  ExpertsWeights add_experts(const ExpertsSpec& e) {
    const Parameters::Within half(p_, Half::mlp);
    ExpertsWeights w;
    const Count hidden = spec_.hidden;
    const std::string prefix = e.name.empty() ? "" : e.name + ".", experts = prefix + e.experts_name + ".";
    w.router = add(LinearForm::linear, prefix + e.router_name, hidden, e.experts, e.router_bias);
    p_[w.router.weight].always_float32 = e.router_float32;
    if (e.correction_parameter) {
      const ParameterId correction = p_.add(prefix + e.correction_name, {1, e.experts});
      p_[correction].trainable = false;
      p_[correction].always_float32 = true;
    }
    const auto all = [&](const std::string& name, const Dims& shape) {
      return p_.add(experts + name, shape, Role::routed_expert);
    };
    switch (e.storage) {
      case ExpertsStorage::gate_up:
        w.gate_up = all(e.gate_up_name, {e.experts, 2 * e.inner, hidden});
        w.down = all(e.down_name, {e.experts, hidden, e.inner});
        break;
      case ExpertsStorage::in_by_out:
        w.gate_up = all(e.gate_up_name, {e.experts, hidden, 2 * e.inner});
        w.down = all(e.down_name, {e.experts, e.inner, hidden});
        break;
      case ExpertsStorage::rows_of_all:
        w.gate_up = all("mlp.w1", {e.experts * e.inner, hidden});
        w.up = all("mlp.v1", {e.experts * e.inner, hidden});
        w.down = all("mlp.w2", {e.experts * e.inner, hidden});
        break;
    }
    if (e.biases) {
      w.gate_up_bias = all(e.gate_up_name + "_bias", {e.experts, 2 * e.inner});
      w.down_bias = all(e.down_name + "_bias", {e.experts, hidden});
    }
    if (e.shared.inner > 0) w.shared = add_mlp(e.shared, prefix + e.shared.name + ".");
    if (!e.shared_gate_name.empty())
      w.shared_gate = add(LinearForm::linear, prefix + e.shared_gate_name, hidden, 1, false);
    return w;
  }

  LayerWeights add_layer(const LayerSpec& layer) {
    LayerWeights w;
    if (layer.has_attention) w.attention = add_attention(layer.attention);
    if (layer.mixer) layer.mixer->add_parameters(p_);
    if (layer.mlp.inner > 0) w.mlp = add_mlp(layer.mlp, layer.mlp.name.empty() ? "" : layer.mlp.name + ".");
    if (layer.experts) w.experts = add_experts(*layer.experts);
    const Dims row{spec_.hidden};
    w.before_attention = add_norm(layer.before_attention, row);
    w.after_attention = add_norm(layer.after_attention, row);
    w.before_mlp = add_norm(layer.before_mlp, row);
    w.after_mlp = add_norm(layer.after_mlp, row);
    w.after_dense = add_norm(layer.after_dense, row);
    w.before_experts = add_norm(layer.before_experts, row);
    w.after_experts = add_norm(layer.after_experts, row);
    for (const ExtraParameter& extra : layer.extra) {
      const bool in_attention = layer.has_attention && extra.name.starts_with(layer.attention.name + ".");
      const Parameters::Within half(p_, in_attention ? Half::attention : Half::neither);
      p_.add(extra.name, extra.shape, extra.role);
    }
    return w;
  }

 private:
  void add_low_rank(AttentionWeights& w, const AttentionSpec& a, const std::string& prefix) {
    const LowRankSpec& l = *a.low_rank;
    const Count hidden = spec_.hidden, rows = a.heads * a.qk_size;
    if (a.scores.sinks) w.sinks = p_.add(prefix + "sinks", {a.heads});
    w.q_down = add(a.linear, prefix + "q_a_proj", hidden, l.q_rank, false);
    w.q_down_norm = add_norm(prefix + "q_a_norm", l.norm, {l.q_rank});
    w.q_up = add(a.linear, prefix + "q_b_proj", l.q_rank, rows, false);
    w.kv_down = add(a.linear, prefix + "kv_proj", hidden, a.qk_size, false);
    w.kv_down_norm = add_norm(prefix + "kv_norm", l.norm, {a.qk_size});
    w.out_down = add(a.linear, prefix + "o_a_proj", rows / l.out_groups, l.out_groups * l.out_rank, false);
    w.out = add(a.linear, prefix + "o_b_proj", l.out_groups * l.out_rank, hidden, false);
  }

  void add_latent(AttentionWeights& w, const AttentionSpec& a, const std::string& prefix) {
    const LatentSpec& latent = *a.latent;
    const Count q_rows = a.heads * a.qk_size;
    if (latent.q_rank) {
      w.q_down = add(a.linear, prefix + "q_a_proj", spec_.hidden, *latent.q_rank, latent.down_bias);
      w.q_down_norm = add_norm(prefix + "q_a_layernorm", latent.norm, {*latent.q_rank});
      w.q_up = add(a.linear, prefix + "q_b_proj", *latent.q_rank, q_rows, false);
    } else {
      w.q = add(a.linear, prefix + "q_proj", spec_.hidden, q_rows, false);
    }
    w.kv_down = add(a.linear, prefix + "kv_a_proj_with_mqa", spec_.hidden, latent.kv_rank + latent.rotary_size,
                    latent.down_bias);
    w.kv_down_norm = add_norm(prefix + "kv_a_layernorm", latent.norm, {latent.kv_rank});
    w.kv_up = add(a.linear, prefix + "kv_b_proj", latent.kv_rank, a.heads * (latent.plain_size + a.v_size), false);
    if (a.indexer && !a.indexer->shared) add_indexer(w, a, latent.q_rank.value_or(spec_.hidden), prefix + "indexer.");
  }

  void add_indexer(AttentionWeights& w, const AttentionSpec& a, Count rank, const std::string& prefix) {
    const IndexerSpec& indexer = *a.indexer;
    w.index_q = add(a.linear, prefix + "wq_b", rank, indexer.heads * indexer.size, false);
    w.index_k = add(a.linear, prefix + "wk", spec_.hidden, indexer.size, false);
    w.index_k_norm = add_norm(prefix + "k_norm", indexer.norm, {indexer.size});
    w.index_weights = add(a.linear, prefix + "weights_proj", spec_.hidden, indexer.heads, false);
  }

  void add_qk_norms(AttentionWeights& w, const AttentionSpec& a, const std::string& prefix) {
    const auto both = [&](const Dims& q, const Dims& k) {
      w.q_norm = add_norm(prefix + a.q_norm_name, a.q_k_norm, q);
      if (!a.reuses_kv) w.k_norm = add_norm(prefix + a.k_norm_name, a.q_k_norm, k);
    };
    switch (a.qk_norm) {
      case QkNorm::none:
      case QkNorm::after_rotary: break;
      case QkNorm::per_head: both({a.qk_size}, {a.qk_size}); break;
      case QkNorm::all_heads: both({a.heads * a.qk_size}, {a.kv_heads * a.qk_size}); break;
      case QkNorm::heads_by_size: both({a.heads, a.qk_size}, {a.kv_heads, a.qk_size}); break;
      case QkNorm::norm_each_head:
        for (Count i = 0; i < a.heads; ++i)
          w.q_head_norms.push_back(
              add_norm(prefix + a.q_norm_name + ".norms." + std::to_string(i), a.q_k_norm, {a.qk_size}));
        for (Count i = 0; i < a.kv_heads; ++i)
          w.k_head_norms.push_back(
              add_norm(prefix + a.k_norm_name + ".norms." + std::to_string(i), a.q_k_norm, {a.qk_size}));
    }
  }

  Parameters& p_;
  const TransformerSpec& spec_;
};

// Whether two kinds of layers register the same tensors.
bool same_tensors(const TransformerSpec& spec, const LayerSpec& a, const LayerSpec& b) {
  if (a.mixer != b.mixer) return false;
  Parameters left, right;
  Registrar(left, spec).add_layer(a);
  Registrar(right, spec).add_layer(b);
  return std::equal(left.all().begin(), left.all().end(), right.all().begin(), right.all().end(),
                    [](const Parameter& x, const Parameter& y) { return x.name == y.name && x.shape == y.shape; });
}

// What the kind of layers registered last has of experts beside their tensors.
void note_experts(Parameters& p, const LayerSpec& layer) {
  const ExpertsSpec* const experts = layer.experts.get();
  if (!experts) return;
  LayerKind& kind = p.kinds().back();
  kind.experts = experts->experts;
  kind.experts_per_token = experts->per_token;
  if (experts->correction_buffer)
    p.buffers().push_back({kind.prefix + experts->name + "." + experts->correction_name,
                           Bytes(4 * experts->experts) * static_cast<Count>(kind.layers.size())});
}

// The buffers of a kind of layers that makes its own rotary tables.
void note_rotary(Parameters& p, const LayerSpec& layer) {
  if (!layer.has_attention || !layer.attention.rotary.own_tables) return;
  const LayerKind& kind = p.kinds().back();
  add_frequencies(p, kind.prefix + layer.attention.name + ".rotary_emb.", layer.attention.rotary.size,
                  static_cast<Count>(kind.layers.size()));
}

void add_layers(Parameters& p, const TransformerSpec& spec, TransformerWeights& w) {
  // The first kind with the same tensors stands for all of them.
  std::vector<std::size_t> stands_for(spec.kinds.size());
  for (std::size_t i = 0; i < spec.kinds.size(); ++i) {
    stands_for[i] = i;
    for (std::size_t j = 0; j < i && stands_for[i] == i; ++j)
      if (stands_for[j] == j && same_tensors(spec, spec.kinds[i], spec.kinds[j])) stands_for[i] = j;
  }
  w.kinds.resize(spec.kinds.size());
  for (std::size_t i = 0; i < spec.kinds.size(); ++i) {
    if (stands_for[i] != i) {
      w.kinds[i] = w.kinds[stands_for[i]];
      continue;
    }
    std::vector<Count> layers;
    for (std::size_t n = 0; n < spec.pattern.size(); ++n)
      if (stands_for[static_cast<std::size_t>(spec.pattern[n])] == i) layers.push_back(static_cast<Count>(n));
    if (layers.empty()) continue;
    p.begin_layers(spec.kinds[i].name, layers_prefix(spec), std::move(layers));
    w.kinds[i] = Registrar(p, spec).add_layer(spec.kinds[i]);
    p.end_layers();
    note_experts(p, spec.kinds[i]);
    note_rotary(p, spec.kinds[i]);
  }
}

}  // namespace

void add_frequencies(Parameters& p, const std::string& prefix, Count size, Count times) {
  for (const char* name : {"inv_freq", "original_inv_freq"})
    p.buffers().push_back({prefix + name, Bytes(4 * ceil_div(size, 2)) * times});
}

TransformerWeights add_parameters(Parameters& p, const TransformerSpec& spec) {
  Registrar registrar(p, spec);
  TransformerWeights w;
  p.head_is_tied = spec.tied;
  const Count row = spec.embedding_size.value_or(spec.hidden);
  const bool projects = row != spec.hidden;
  w.embedding = p.add(spec.base + spec.embedding_name + ".weight", {spec.vocabulary, row}, Role::embedding);
  if (spec.positions > 0)
    w.positions = p.add(spec.base + spec.positions_name + ".weight", {spec.positions, spec.hidden}, Role::positions);
  if (projects) {
    w.project_out = registrar.add(LinearForm::linear, spec.base + spec.project_out_name, spec.hidden, row, false);
    w.project_in = registrar.add(LinearForm::linear, spec.base + spec.project_in_name, row, spec.hidden, false);
  }
  w.embedding_norm = registrar.add_norm(spec.embedding_norm, {spec.hidden}, spec.base);
  add_layers(p, spec, w);
  for (const ExtraParameter& extra : spec.extra) p.add(spec.base + extra.name, extra.shape, extra.role);
  w.final_norm = registrar.add_norm(spec.final_norm, {spec.hidden}, spec.base);
  w.head.weight = spec.tied ? w.embedding : p.add(spec.head_name + ".weight", {spec.vocabulary, row}, Role::head);
  if (spec.head_bias) w.head.bias = p.add(spec.head_name + ".bias", {spec.vocabulary});
  return w;
}

PredictionWeights add_prediction(Parameters& p, const TransformerSpec& spec) {
  const PredictionSpec& s = spec.prediction;
  Registrar registrar(p, spec);
  PredictionWeights w;
  const std::size_t before = p.all().size();
  const Dims row{spec.hidden};
  const auto add_start = [&] {
    w.of_embedding = registrar.add_norm(s.of_embedding, row, s.shared_prefix);
    w.of_hidden = registrar.add_norm(s.of_hidden, row, s.shared_prefix);
    w.projection = registrar.add(LinearForm::linear, s.shared_prefix + s.projection_name, 2 * spec.hidden, spec.hidden,
                                 s.projection_bias);
  };
  const auto add_end = [&] { w.last = registrar.add_norm(s.last, row, s.shared_prefix); };
  const bool shared = !s.shared_prefix.empty();
  if (shared) add_start();
  const Count length = static_cast<Count>(s.layers.size());
  const Count first = s.prefix.empty() ? static_cast<Count>(spec.pattern.size()) : 0;
  for (Count i = 0; i < length; ++i) {
    std::vector<Count> indices;
    for (Count depth = 0; depth < s.depths; ++depth) indices.push_back(first + depth * length + i);
    p.begin_layers("prediction", s.prefix.empty() ? layers_prefix(spec) : s.prefix, std::move(indices));
    if (!shared && i == 0) add_start();
    const LayerSpec& layer = s.layers[static_cast<std::size_t>(i)];
    w.layers.push_back(registrar.add_layer(layer));
    if (!shared && i == length - 1) add_end();
    p.end_layers();
    note_experts(p, layer);
  }
  if (shared) add_end();
  for (std::size_t id = before; id < p.all().size(); ++id) p[static_cast<ParameterId>(id)].predicts = true;
  return w;
}

}  // namespace llmcalc
