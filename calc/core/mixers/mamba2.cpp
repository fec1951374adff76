// Mamba-2's mixer: one projection for everything -> convolution of x, B and C -> scan by heads -> gated norm -> out.
#include "core/mixers/mixers.hpp"
#include "core/ops/recurrence.hpp"
#include "core/ops/views.hpp"
#include "core/transformer/transformer.hpp"

namespace llmcalc {
namespace {

constexpr Count state_flops = 1;    // decay
constexpr Count channel_flops = 3;  // dt * x, D * x and its sum

class Mamba2Mixer final : public Mixer {
 public:
  explicit Mamba2Mixer(const Mamba2Spec& spec) : s_(spec) {}

  void add_parameters(Parameters& p) override {
    const std::string prefix = s_.name + ".";
    const Count channels = s_.conv_channels();
    dt_bias_ = p.add(prefix + "dt_bias", {s_.heads});
    a_log_ = p.add(prefix + "A_log", {s_.heads});
    d_ = p.add(prefix + "D", {s_.heads});
    conv_.weight = p.add(prefix + "conv1d.weight", {channels, 1, s_.width});
    if (s_.conv_bias) conv_.bias = p.add(prefix + "conv1d.bias", {channels});
    in_ = add_linear(p, prefix + "in_proj", s_.hidden, s_.inner() + channels + s_.heads, s_.bias);
    norm_ = p.add(prefix + "norm.weight", {s_.inner()});
    out_ = add_linear(p, prefix + "out_proj", s_.inner(), s_.hidden, s_.bias);
  }

  SequenceState state() const override { return {s_.conv_channels() * s_.width, s_.inner() * s_.state}; }

  Tensor run(Trace& t, const Job&, const Tensor& input) const override {
    const Trace::Scope scope(t, s_.name);
    const Count group_state = s_.groups * s_.state;
    const Tensors parts = split(t, run_linear(t, "in_proj", LinearForm::linear, in_, input),
                                {s_.inner(), s_.conv_channels(), s_.heads}, -1);
    const Tensors convolved = split(t, run_conv(t, parts[1]), {s_.inner(), group_state, group_state}, -1);
    Tensor y;
    {
      const Trace::Scope inside(t, "scan");
      Recurrence recurrence;
      recurrence.state = checked::multiply(s_.inner(), s_.state);
      recurrence.elementwise = state_flops * recurrence.state + channel_flops * s_.inner();
      y = scan(t, recurrence,
               {convolved[0], parts[2], decay_rates(t, t.parameter(a_log_)), convolved[1], convolved[2],
                t.parameter(d_), t.parameter(dt_bias_)},
               s_.inner());
    }
    {
      const Trace::Scope inside(t, "norm");
      y = gated_rms_norm(t, y, parts[0], t.parameter(norm_), s_.inner() / s_.groups);
    }
    return run_linear(t, "out_proj", LinearForm::linear, out_, y);
  }

 private:
  Tensor run_conv(Trace& t, const Tensor& x) const {
    const Trace::Scope scope(t, "conv1d");
    const Tensor bias = conv_.bias >= 0 ? t.parameter(conv_.bias) : Tensor();
    return causal_conv1d(t, x, t.parameter(conv_.weight), conv_.bias >= 0 ? &bias : nullptr, true);
  }

  Mamba2Spec s_;
  ParameterId dt_bias_ = -1, a_log_ = -1, d_ = -1, norm_ = -1;
  LinearWeights conv_, in_, out_;
};

}  // namespace

std::shared_ptr<Mixer> make_mamba2(const Mamba2Spec& spec) { return std::make_shared<Mamba2Mixer>(spec); }

}  // namespace llmcalc
