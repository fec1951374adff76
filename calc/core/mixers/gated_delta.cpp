// The gated delta rule of Qwen3-Next: q, k, v through a convolution, then a recurrence that corrects what the state
// already holds for a key. Each token reads the state for its key, adds to it, and reads it for its query.
#include "core/mixers/mixers.hpp"
#include "core/ops/data.hpp"
#include "core/ops/elementwise.hpp"
#include "core/ops/recurrence.hpp"
#include "core/ops/select.hpp"
#include "core/ops/views.hpp"
#include "core/transformer/transformer.hpp"

namespace llmcalc {
namespace {

constexpr Count products = 3;

class GatedDelta final : public Mixer {
 public:
  explicit GatedDelta(const GatedDeltaSpec& spec) : s_(spec) {}

  void add_parameters(Parameters& p) override {
    const std::string prefix = s_.name + ".";
    const Count channels = 2 * s_.keys() + s_.values();
    dt_bias_ = p.add(prefix + "dt_bias", {s_.value_heads});
    a_log_ = p.add(prefix + "A_log", {s_.value_heads});
    conv_ = p.add(prefix + "conv1d.weight", {channels, 1, s_.width});
    const auto projection = [&](const char* name, Count rows) {
      return add_linear(p, prefix + name, s_.hidden, rows, false);
    };
    if (s_.fused_projections) {
      qkvz_ = projection("in_proj_qkvz", channels + s_.values());
      ba_ = projection("in_proj_ba", 2 * s_.value_heads);
    } else {
      qkvz_ = projection("in_proj_qkv", channels);
      z_ = projection("in_proj_z", s_.values());
      ba_ = projection("in_proj_b", s_.value_heads);
      a_ = projection("in_proj_a", s_.value_heads);
    }
    norm_ = p.add(prefix + "norm.weight", {s_.value_size});
    out_ = add_linear(p, prefix + "out_proj", s_.values(), s_.hidden, false);
  }

  SequenceState state() const override { return {(2 * s_.keys() + s_.values()) * s_.width, s_.values() * s_.key_size}; }

  Tensor run(Trace& t, const Job&, const Tensor& input) const override {
    const Trace::Scope scope(t, s_.name);
    const Projected in = s_.fused_projections ? by_key_heads(t, input) : apart(t, input);
    Tensor qkv;
    {
      const Trace::Scope inside(t, "conv1d");
      qkv = causal_conv1d(t, in.qkv, t.parameter(conv_), nullptr, true);
    }
    const Tensors parts = split(t, qkv, {s_.keys(), s_.keys(), s_.values()}, -1);
    Tensor y;
    {
      const Trace::Scope inside(t, "scan");
      const Tensor beta = sigmoid(t, in.b);
      const Tensor step = softplus(t, add(t, in.a, t.parameter(dt_bias_)));
      const Tensor decay = mul(t, decay_rates(t, t.parameter(a_log_)), step);
      Recurrence recurrence;
      recurrence.state = checked::multiply(s_.values(), s_.key_size);
      recurrence.products = products;
      // Decay of the state; unit length of q and k, beta.
      recurrence.elementwise = recurrence.state + 3 * (2 * s_.keys() + s_.values());
      y = scan(t, recurrence, {parts[0], parts[1], parts[2], decay, beta}, s_.values());
    }
    {
      const Trace::Scope inside(t, "norm");
      y = gated_rms_norm(t, y, in.z, t.parameter(norm_), s_.value_size);
    }
    return run_linear(t, "out_proj", LinearForm::linear, out_, y);
  }

 private:
  struct Projected {
    Tensor qkv, z, b, a;
  };

  // Rows of the weights in order of key heads: each q, k, then v and z of its value heads; and b, then a.
  Projected by_key_heads(Trace& t, const Tensor& x) const {
    const Count batch = x.size(0), length = x.size(1), heads = s_.key_heads;
    const Count group = s_.value_heads / heads, group_values = group * s_.value_size;
    const Tensor qkvz = view(t, run_linear(t, "in_proj_qkvz", LinearForm::linear, qkvz_, x),
                             {batch, length, heads, 2 * s_.key_size + 2 * group_values});
    const Dims gates_of_heads{batch, length, heads, 2 * group};
    const Tensor ba = view(t, run_linear(t, "in_proj_ba", LinearForm::linear, ba_, x), gates_of_heads);
    const Tensors parts = split(t, qkvz, {s_.key_size, s_.key_size, group_values, group_values}, 3);
    const Tensors gates = split(t, ba, {group, group}, 3);
    const auto flat = [&](const Tensor& y, Count width) { return reshape(t, y, {batch, length, width}); };
    const Tensor q = flat(parts[0], s_.keys()), k = flat(parts[1], s_.keys()), v = flat(parts[2], s_.values());
    return {cat(t, {q, k, v}, -1), flat(parts[3], s_.values()), flat(gates[0], s_.value_heads),
            flat(gates[1], s_.value_heads)};
  }

  Projected apart(Trace& t, const Tensor& x) const {
    const auto project = [&](const char* name, const LinearWeights& w) {
      return run_linear(t, name, LinearForm::linear, w, x);
    };
    const Tensor qkv = project("in_proj_qkv", qkvz_), z = project("in_proj_z", z_), b = project("in_proj_b", ba_);
    return {qkv, z, b, project("in_proj_a", a_)};
  }

  GatedDeltaSpec s_;
  ParameterId dt_bias_ = -1, a_log_ = -1, conv_ = -1, norm_ = -1;
  LinearWeights qkvz_, z_, ba_, a_, out_;
};

}  // namespace

std::shared_ptr<Mixer> make_gated_delta(const GatedDeltaSpec& spec) { return std::make_shared<GatedDelta>(spec); }

}  // namespace llmcalc
