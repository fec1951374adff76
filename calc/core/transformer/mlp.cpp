// The parts every layer is made of: norms, projections, the MLP.
#include "core/ops/elementwise.hpp"
#include "core/ops/fused.hpp"
#include "core/ops/matmul.hpp"
#include "core/ops/normalise.hpp"
#include "core/ops/views.hpp"
#include "core/transformer/transformer.hpp"

namespace llmcalc {

Tensor run_norm(Trace& t, std::string_view name, const NormSpec& spec, const NormWeights& w, const Tensor& x) {
  const Trace::Scope scope(t, name);
  const Tensor weight = w.weight >= 0 ? t.parameter(w.weight) : Tensor();
  const Tensor bias = w.bias >= 0 ? t.parameter(w.bias) : Tensor();
  return norm(t, spec.kind, x, weight.defined() ? &weight : nullptr, bias.defined() ? &bias : nullptr);
}

Tensor run_linear(Trace& t, std::string_view name, LinearForm form, const LinearWeights& w, const Tensor& x) {
  const Trace::Scope scope(t, name);
  const Tensor weight = t.parameter(w.weight);
  const Tensor bias = w.bias >= 0 ? t.parameter(w.bias) : Tensor();
  switch (form) {
    case LinearForm::conv1d: return conv1d_linear(t, x, weight, bias);
    case LinearForm::matmul: {
      const Tensor y = matmul(t, x, transpose(t, weight, 0, 1));
      return bias.defined() ? add(t, y, bias) : y;
    }
    case LinearForm::linear: break;
  }
  return linear(t, x, weight, bias.defined() ? &bias : nullptr);
}

namespace {

Tensor activated(Trace& t, const MlpSpec& m, const MlpWeights& w, const Tensor& x) {
  const Trace::Scope scope(t, "act_fn");
  if (m.activation == Activation::xielu) return xielu(t, x, t.parameter(w.alpha_p), t.parameter(w.alpha_n));
  return activate(t, x, m.activation);
}

}  // namespace

Tensor run_mlp(Trace& t, const Job& job, const MlpSpec& m, const MlpWeights& w, const Tensor& x) {
  const Trace::Scope scope(t, m.name.empty() ? std::string_view("mlp") : m.name);
  Tensor hidden;
  if (!m.gated) {
    hidden = run_linear(t, m.up_name, m.linear, w.up, x);
    hidden = activated(t, m, w, hidden);
  } else if (m.fused) {
    const Tensors halves = chunk(t, run_linear(t, m.gate_up_name, m.linear, w.gate_up, x), 2, -1);
    hidden = t.settings.fused_kernels ? gated_activation(t, halves[0], halves[1])
                                      : mul(t, halves[1], activated(t, m, w, halves[0]));
  } else {
    hidden = run_linear(t, m.gate_name, m.linear, w.gate, x);
    if (!t.settings.fused_kernels) hidden = activated(t, m, w, hidden);
    const Tensor up = run_linear(t, m.up_name, m.linear, w.up, x);
    hidden = t.settings.fused_kernels ? gated_activation(t, hidden, up) : mul(t, hidden, up);
  }
  hidden = run_linear(t, m.down_name, m.linear, w.down, hidden);
  return dropout(t, hidden, job.rate(m.dropout));
}

}  // namespace llmcalc
