// Mamba, Falcon-Mamba and Mamba-2: nothing but state-space layers, with a residual stream in float32.
#include "core/decoder.hpp"
#include "core/families/common.hpp"
#include "core/families/families.hpp"
#include "core/families/state_space.hpp"
#include "core/mixers/mixers.hpp"
#include "core/ops/cast.hpp"
#include "core/ops/data.hpp"
#include "core/ops/elementwise.hpp"
#include "core/transformer/transformer.hpp"

namespace llmcalc {

Count read_rank(Fields& f, const char* key, Count hidden) {
  const Value* given = f.raw(key);
  constexpr Count hidden_per_rank = 16;
  if (!given || (given->kind == Value::Kind::text && given->text == "auto")) return ceil_div(hidden, hidden_per_rank);
  return f.count(key);
}

namespace {

const NormSpec rms{NormKind::rms, true, false};

class StateSpaceModel final : public Decoder {
 public:
  StateSpaceModel(Fields& f, std::string architecture, bool assumed_tied) {
    info.architecture = std::move(architecture);
    info.hidden = f.count("hidden_size");
    info.layers = f.layers("num_hidden_layers");
    info.vocabulary = f.count("vocab_size");
    residual_in_float32_ = f.flag("residual_in_fp32", true);
    parameters.head_is_tied = f.flag("tie_word_embeddings", assumed_tied);
    f.ignore({"hidden_act", "layer_norm_epsilon", "rescale_prenorm_residual", "time_step_scale", "time_step_min",
              "time_step_max", "time_step_floor", "time_step_init_scheme", "use_mambapy", "use_associative_scan"});
  }

  void set_mixer(std::shared_ptr<Mixer> mixer) {
    Parameters& p = parameters;
    embedding_ = p.add("backbone.embeddings.weight", {info.vocabulary, info.hidden}, Role::embedding);
    p.begin_layers("state_space", "backbone.layers.", all_layers(info.layers));
    norm_.weight = p.add("norm.weight", {info.hidden});
    mixer->add_parameters(p);
    p.end_layers();
    const SequenceState one = mixer->state();
    info.recurrent = {checked::multiply(one.convolution, info.layers), checked::multiply(one.recurrence, info.layers)};
    final_norm_.weight = p.add("backbone.norm_f.weight", {info.hidden});
    head_.weight = p.head_is_tied ? embedding_ : p.add("lm_head.weight", {info.vocabulary, info.hidden}, Role::head);
    mixer_ = std::move(mixer);
  }

 protected:
  Tensor embed(Trace& t, const Job&, const Tensor& ids, Tensor& held) const override {
    const Trace::Scope scope(t, "embeddings");
    return held = embedding(t, ids, t.parameter(embedding_));
  }
  Shared share(Trace&, const Job&, const Tensor&) const override { return {}; }

  Tensor layer(Trace& t, const Job& job, Count, const Tensor& input, const Shared&) const override {
    const DType weights = t.parameter(norm_.weight).dtype;
    Tensor hidden = run_norm(t, "norm", rms, norm_, cast(t, input, weights));
    const Tensor residual = residual_in_float32_ ? cast(t, input, DType::float32) : input;
    hidden = mixer_->run(t, job, hidden);
    return add(t, residual, hidden);
  }

  Tensor finish(Trace& t, const Job&, const Tensor& input) const override {
    const Tensor hidden = run_norm(t, "norm_f", rms, final_norm_, input);
    return cast(t, hidden, t.parameter(head_.weight).dtype);
  }

  Tensor head_weight(Trace& t) const override { return t.parameter(head_.weight); }

  Tensor head(Trace& t, const Job&, const Tensor& hidden) const override {
    return cast(t, run_linear(t, "lm_head", LinearForm::linear, head_, hidden), DType::float32);
  }

  // The first layer's input is not in float32 yet.
  std::vector<LayerRun> runs() const override {
    if (info.layers == 1) return {{1, 1}};
    return {{1, 1}, {info.layers - 1, 1}};
  }

 private:
  bool residual_in_float32_ = true;
  std::shared_ptr<Mixer> mixer_;
  ParameterId embedding_ = -1;
  NormWeights norm_, final_norm_;
  LinearWeights head_;
};

std::unique_ptr<Model> build_first(Fields& f, const char* architecture, const std::optional<NormSpec>& norm) {
  auto model = std::make_unique<StateSpaceModel>(f, architecture, true);
  MambaSpec m;
  m.hidden = model->info.hidden;
  const Count expanded = checked::multiply(f.count("expand", 2), m.hidden);
  m.inner = f.has("intermediate_size") ? f.count("intermediate_size") : expanded;
  m.state = f.count("state_size", 16);
  m.width = f.count("conv_kernel", 4);
  m.rank = read_rank(f, "time_step_rank", m.hidden);
  m.bias = f.flag("use_bias", false);
  m.conv_bias = f.flag("use_conv_bias", true);
  m.norm = norm;
  model->set_mixer(make_mamba(m));
  return model;
}

}  // namespace

std::unique_ptr<Model> build_mamba(Fields& f) { return build_first(f, "mamba", std::nullopt); }

std::unique_ptr<Model> build_falcon_mamba(Fields& f) {
  f.ignore({"mixer_rms_eps", "use_falcon_mambapy"});
  return build_first(f, "falcon_mamba", NormSpec{NormKind::rms, false, false});
}

std::unique_ptr<Model> build_mamba2(Fields& f) {
  auto model = std::make_unique<StateSpaceModel>(f, "mamba2", false);
  Mamba2Spec m;
  m.hidden = model->info.hidden;
  m.heads = f.count("num_heads", 128);
  m.head_size = f.count("head_dim", 64);
  m.groups = f.count("n_groups", 8);
  m.state = f.count("state_size", 128);
  m.width = f.count("conv_kernel", 4);
  m.bias = f.flag("use_bias", false);
  m.conv_bias = f.flag("use_conv_bias", true);
  if (const Count inner = checked::multiply(f.count("expand", 2), m.hidden); !f.has_stand_ins() && m.inner() != inner)
    f.error("num_heads",
            "num_heads x head_dim is " + std::to_string(m.inner()) + ", expand x hidden_size " + std::to_string(inner));
  check_groups(f, m);
  f.ignore({"time_step_rank", "time_step_limit", "chunk_size", "norm_before_gate", "rms_norm"});
  model->set_mixer(make_mamba2(m));
  return model;
}

void check_groups(Fields& f, const Mamba2Spec& m) {
  if (!f.has_stand_ins() && m.heads % m.groups != 0)
    f.error("n_groups", std::to_string(m.groups) + " groups do not divide " + std::to_string(m.heads) + " heads");
}

}  // namespace llmcalc
