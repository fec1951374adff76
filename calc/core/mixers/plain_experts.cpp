// Nemotron-H's mixture: a float32 router by sigmoid, experts without a gate, one shared expert for every token.
#include <algorithm>

#include "core/mixers/mixers.hpp"
#include "core/ops/cast.hpp"
#include "core/ops/data.hpp"
#include "core/ops/elementwise.hpp"
#include "core/ops/experts.hpp"
#include "core/ops/matmul.hpp"
#include "core/ops/select.hpp"
#include "core/ops/views.hpp"
#include "core/transformer/transformer.hpp"

namespace llmcalc {
namespace {

class PlainExperts final : public Mixer {
 public:
  explicit PlainExperts(const PlainExpertsSpec& spec) : s_(spec) {}

  void add_parameters(Parameters& p) override {
    const Parameters::Within half(p, Half::mlp);
    const std::string prefix = s_.name + ".", experts = prefix + "experts.";
    const Count width = s_.latent.value_or(s_.hidden);
    up_ = p.add(experts + "up_proj", {s_.experts, s_.inner, width}, Role::routed_expert);
    down_ = p.add(experts + "down_proj", {s_.experts, width, s_.inner}, Role::routed_expert);
    router_ = p.add(prefix + "gate.weight", {s_.experts, s_.hidden});
    const std::string shared = prefix + s_.shared.name + ".";
    shared_.up = add_linear(p, shared + s_.shared.up_name, s_.hidden, s_.shared.inner, s_.bias);
    shared_.down = add_linear(p, shared + s_.shared.down_name, s_.shared.inner, s_.hidden, s_.bias);
    if (s_.latent) {
      to_latent_ = add_linear(p, prefix + "fc1_latent_proj", s_.hidden, width, s_.bias);
      from_latent_ = add_linear(p, prefix + "fc2_latent_proj", width, s_.hidden, s_.bias);
    }
    if (p.kinds().empty()) return;
    LayerKind& kind = p.kinds().back();
    kind.experts = s_.experts;
    kind.experts_per_token = s_.per_token;
    constexpr Count correction_bytes = 4;  // a float32 for each expert
    p.buffers().push_back({kind.prefix + prefix + "gate.e_score_correction_bias",
                           Bytes(correction_bytes * s_.experts) * static_cast<Count>(kind.layers.size())});
  }

  Tensor run(Trace& t, const Job& job, const Tensor& x) const override {
    const Trace::Scope scope(t, s_.name);
    const Tensor tokens = view(t, x, {x.size(0) * x.size(1), x.size(2)});
    const Routed routed = route(t, tokens);
    Tensor hidden = s_.latent ? run_linear(t, "fc1_latent_proj", LinearForm::linear, to_latent_, tokens) : tokens;
    hidden = run_all(t, hidden, routed);
    if (s_.latent) hidden = run_linear(t, "fc2_latent_proj", LinearForm::linear, from_latent_, hidden);
    hidden = view(t, hidden, x.shape());
    return add(t, hidden, run_mlp(t, job, s_.shared, shared_, x));
  }

 private:
  struct Routed {
    Tensor weights, experts;  // (tokens, k)
  };

  Routed route(Trace& t, const Tensor& tokens) const {
    const Trace::Scope scope(t, "gate");
    const Tensor weight = cast(t, t.parameter(router_), DType::float32);
    const Tensor probabilities = sigmoid(t, linear(t, cast(t, tokens, DType::float32), weight));
    Tensor choice = add(t, probabilities, constant(t, DType::float32, {s_.experts}));
    const Count group = s_.experts / s_.groups;
    const Tensor best = topk(t, view(t, choice, {choice.size(0), s_.groups, group}), std::min<Count>(2, group)).values;
    topk(t, sum_last(t, best, false), s_.top_groups);
    const Tensor mask = outside_groups(t, choice);
    choice = masked_fill(t, choice, &mask);
    const Tensor experts = topk(t, choice, s_.per_token).indices;
    Tensor weights = gather_last(t, probabilities, experts);
    if (s_.normalises) weights = div_in_place(t, weights, add(t, sum_last(t, weights, true), 1e-20));
    return {mul(t, weights, 1.0), experts};
  }

  static Tensor outside_groups(Trace& t, const Tensor& like) {
    const Trace::NoGrad no_grad(t);
    return constant(t, DType::boolean, like.shape());
  }

  Tensor run_all(Trace& t, const Tensor& x, const Routed& routed) const {
    const Trace::Scope scope(t, "experts");
    const Count tokens = x.size(0), pairs = tokens * s_.per_token;
    const auto numbers = [&] { return constant(t, DType::int64, {pairs}); };
    const Tensor rows = rows_at(t, x, numbers());
    const Tensor row_weights = rows_at(t, reshape(t, routed.weights, {pairs}), numbers());
    const Tensor offsets = constant(t, DType::int32, {s_.experts});
    const auto product = [&](const Tensor& of, ParameterId id) {
      const Tensor weight = transpose(t, t.parameter(id), -2, -1);
      return grouped_mm(t, cast(t, of, weight.dtype), weight, offsets);
    };
    Tensor hidden = product(rows, up_);
    hidden = activate(t, hidden, s_.shared.activation);
    hidden = product(hidden, down_);
    hidden = mul(t, hidden, unsqueeze(t, row_weights, -1));
    hidden = rows_at(t, hidden, numbers());
    hidden = sum_axis_1(t, view(t, hidden, {tokens, s_.per_token, x.size(1)}));
    return cast(t, hidden, x.dtype);
  }

  PlainExpertsSpec s_;
  ParameterId up_ = -1, down_ = -1, router_ = -1;
  MlpWeights shared_;
  LinearWeights to_latent_, from_latent_;
};

}  // namespace

std::shared_ptr<Mixer> make_plain_experts(const PlainExpertsSpec& spec) { return std::make_shared<PlainExperts>(spec); }

}  // namespace llmcalc
