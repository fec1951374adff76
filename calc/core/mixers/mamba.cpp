// Mamba's mixer: in -> convolution -> time step, B and C from the convolved input -> scan -> out.
#include "core/mixers/mixers.hpp"
#include "core/ops/cast.hpp"
#include "core/ops/recurrence.hpp"
#include "core/ops/views.hpp"
#include "core/transformer/transformer.hpp"

namespace llmcalc {
namespace {

constexpr Count scan_chunk = 2048;  // tokens between the states that mamba-ssm's kernel keeps
constexpr Count decay_and_input_flops =
    4;                              // an element of the state: exp(dt * A) is two, decay and dt * x * B one each
constexpr Count channel_flops = 5;  // softplus, D * x, silu of the gate

class MambaMixer final : public Mixer {
 public:
  explicit MambaMixer(const MambaSpec& spec) : s_(spec) {}

  void add_parameters(Parameters& p) override {
    const std::string prefix = s_.name + ".";
    a_log_ = p.add(prefix + "A_log", {s_.inner, s_.state});
    d_ = p.add(prefix + "D", {s_.inner});
    conv_.weight = p.add(prefix + "conv1d.weight", {s_.inner, 1, s_.width});
    if (s_.conv_bias) conv_.bias = p.add(prefix + "conv1d.bias", {s_.inner});
    in_ = add_linear(p, prefix + "in_proj", s_.hidden, 2 * s_.inner, s_.bias);
    x_ = add_linear(p, prefix + "x_proj", s_.inner, s_.rank + 2 * s_.state, false);
    dt_ = add_linear(p, prefix + "dt_proj", s_.rank, s_.inner, true);
    out_ = add_linear(p, prefix + "out_proj", s_.inner, s_.hidden, s_.bias);
    if (!s_.norm || !s_.norm->weight) return;
    dt_norm_.weight = p.add(prefix + "dt_layernorm.weight", {s_.rank});
    b_norm_.weight = p.add(prefix + "b_layernorm.weight", {s_.state});
    c_norm_.weight = p.add(prefix + "c_layernorm.weight", {s_.state});
  }

  SequenceState state() const override { return {s_.inner * s_.width, s_.inner * s_.state}; }

  Tensor run(Trace& t, const Job&, const Tensor& input) const override {
    const Trace::Scope scope(t, s_.name);
    const Tensors halves = chunk(t, run_linear(t, "in_proj", LinearForm::linear, in_, input), 2, -1);
    Tensor u = convolved(t, halves[0]);
    Tensors parts = split(t, run_linear(t, "x_proj", LinearForm::linear, x_, u), {s_.rank, s_.state, s_.state}, -1);
    if (s_.norm) {
      parts[0] = run_norm(t, "dt_layernorm", *s_.norm, dt_norm_, parts[0]);
      parts[1] = run_norm(t, "b_layernorm", *s_.norm, b_norm_, parts[1]);
      parts[2] = run_norm(t, "c_layernorm", *s_.norm, c_norm_, parts[2]);
    }
    // The bias is added inside the scan, in float32.
    const Tensor dt = run_linear(t, "dt_proj", LinearForm::linear, {dt_.weight, -1}, parts[0]);
    Tensor y;
    {
      const Trace::Scope inside(t, "scan");
      Recurrence recurrence;
      recurrence.state = checked::multiply(s_.inner, s_.state);
      recurrence.elementwise = decay_and_input_flops * recurrence.state + channel_flops * s_.inner;
      recurrence.kept_states = 2 * ceil_div(input.size(1), scan_chunk);  // the state and the running product of decays
      const auto in_float32 = [&](ParameterId id) { return cast(t, t.parameter(id), DType::float32); };
      y = scan(t, recurrence,
               {u, dt, decay_rates(t, t.parameter(a_log_)), parts[1], parts[2], in_float32(d_), halves[1],
                in_float32(dt_.bias)},
               s_.inner);
    }
    return run_linear(t, "out_proj", LinearForm::linear, out_, y);
  }

 private:
  Tensor convolved(Trace& t, const Tensor& x) const {
    const Trace::Scope scope(t, "conv1d");
    const Tensor bias = conv_.bias >= 0 ? t.parameter(conv_.bias) : Tensor();
    return causal_conv1d(t, x, t.parameter(conv_.weight), conv_.bias >= 0 ? &bias : nullptr, true);
  }

  MambaSpec s_;
  ParameterId a_log_ = -1, d_ = -1;
  LinearWeights conv_, in_, x_, dt_, out_;
  NormWeights dt_norm_, b_norm_, c_norm_;
};

}  // namespace

std::shared_ptr<Mixer> make_mamba(const MambaSpec& spec) { return std::make_shared<MambaMixer>(spec); }

}  // namespace llmcalc
