// Griffin's recurrent block. The recurrence has one element a channel: it has no products, only element-wise work; its
// two gates are block-diagonal products.
#include "core/mixers/mixers.hpp"
#include "core/ops/cast.hpp"
#include "core/ops/elementwise.hpp"
#include "core/ops/matmul.hpp"
#include "core/ops/recurrence.hpp"
#include "core/ops/select.hpp"
#include "core/ops/views.hpp"
#include "core/transformer/transformer.hpp"

namespace llmcalc {
namespace {

// Of a channel: exp twice, sqrt and the rest of the input's scale, the gated input, decay and sum.
constexpr Count recurrence_flops = 9;

class RecurrentBlock final : public Mixer {
 public:
  explicit RecurrentBlock(const RecurrentBlockSpec& spec) : s_(spec) {}

  void add_parameters(Parameters& p) override {
    const std::string prefix = s_.name + ".", lru = prefix + "rg_lru.";
    const Count size = s_.channels / s_.blocks;
    y_ = add_linear(p, prefix + "linear_y", s_.hidden, s_.channels, true);
    x_ = add_linear(p, prefix + "linear_x", s_.hidden, s_.channels, true);
    out_ = add_linear(p, prefix + "linear_out", s_.channels, s_.hidden, true);
    conv_.weight = p.add(prefix + "conv_1d.weight", {s_.channels, 1, s_.width});
    conv_.bias = p.add(prefix + "conv_1d.bias", {s_.channels});
    recurrent_ = p.add(lru + "recurrent_param", {s_.channels});
    const auto gate = [&](const std::string& name) {
      LinearWeights w;
      w.weight = p.add(lru + name + "_weight", {s_.blocks, size, size});
      w.bias = p.add(lru + name + "_bias", {s_.blocks, size});
      return w;
    };
    input_gate_ = gate("input_gate");
    recurrent_gate_ = gate("recurrent_gate");
  }

  SequenceState state() const override { return {s_.channels * s_.width, s_.channels}; }

  Tensor run(Trace& t, const Job&, const Tensor& input) const override {
    const Trace::Scope scope(t, s_.name);
    Tensor y = run_linear(t, "linear_y", LinearForm::linear, y_, input);
    y = activate(t, y, s_.activation);
    Tensor x = run_linear(t, "linear_x", LinearForm::linear, x_, input);
    {
      const Trace::Scope inside(t, "conv_1d");
      const Tensor bias = t.parameter(conv_.bias);
      x = causal_conv1d(t, x, t.parameter(conv_.weight), &bias, false);
    }
    {
      const Trace::Scope inside(t, "rg_lru");
      x = recurrence(t, x);
    }
    return run_linear(t, "linear_out", LinearForm::linear, out_, mul(t, x, y));
  }

 private:
  Tensor gate(Trace& t, const LinearWeights& w, const Tensor& blocks, const Tensor& x) const {
    const Tensor weight = t.to_autocast(t.parameter(w.weight)), bias = t.to_autocast(t.parameter(w.bias));
    Tensor y = bmm(t, blocks, weight);
    y = add(t, y, unsqueeze(t, bias, 1));
    return sigmoid(t, reshape(t, transpose(t, y, 0, 1), x.shape()));
  }

  Tensor recurrence(Trace& t, const Tensor& x) const {
    const Count tokens = x.size(0) * x.size(1), size = s_.channels / s_.blocks;
    const Tensor blocks = t.to_autocast(permute(t, reshape(t, x, {tokens, s_.blocks, size}), {1, 0, 2}));
    const Tensor input_gate = gate(t, input_gate_, blocks, x), recurrent_gate = gate(t, recurrent_gate_, blocks, x);
    Recurrence recurrence;
    recurrence.products = 0;
    recurrence.elementwise = recurrence_flops * s_.channels;
    return scan(t, recurrence, {x, input_gate, recurrent_gate, softplus(t, t.parameter(recurrent_))}, s_.channels);
  }

  RecurrentBlockSpec s_;
  LinearWeights y_, x_, out_, conv_, input_gate_, recurrent_gate_;
  ParameterId recurrent_ = -1;
};

}  // namespace

std::shared_ptr<Mixer> make_recurrent_block(const RecurrentBlockSpec& spec) {
  return std::make_shared<RecurrentBlock>(spec);
}

}  // namespace llmcalc
