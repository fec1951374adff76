// What each operation keeps for its backward pass. The expectations are PyTorch's tools/autograd/derivatives.yaml read
// by a person; whole models are held against measured bytes in the reference rows.
#include "core/blocks/activation.hpp"
#include "core/ops/attention.hpp"
#include "core/ops/cast.hpp"
#include "core/ops/data.hpp"
#include "core/ops/elementwise.hpp"
#include "core/ops/experts.hpp"
#include "core/ops/loss.hpp"
#include "core/ops/matmul.hpp"
#include "core/ops/normalise.hpp"
#include "core/ops/recurrence.hpp"
#include "core/ops/select.hpp"
#include "core/ops/views.hpp"
#include "tests/catch.hpp"
#include "tests/support/graph.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

// A trace with one leaf (4, 8) and an activation of that shape that needs a gradient: leaf * 1.
struct Fixture {
  explicit Fixture(DType dtype = DType::float32, std::optional<DType> autocast = {})
      : t({autocast}, {leaf({4, 8}, dtype), leaf({8}, dtype), leaf({16, 8}, dtype), leaf({8}, dtype, false)}) {
    x = mul(t, t.parameter(0), 1.0);
  }
  Trace t;
  Tensor x;
  static constexpr Count size = 4 * 8 * 4;  // bytes of x in float32
};

}  // namespace

TEST_CASE("operations that keep nothing") {
  Fixture f;
  add(f.t, f.x, f.x);
  add(f.t, f.x, 1.0);
  mul(f.t, f.x, 2.0);
  neg(f.t, f.x);
  sub(f.t, f.x, f.x);
  cast(f.t, f.x, DType::bfloat16);
  transpose(f.t, f.x, 0, 1);
  view(f.t, f.x, {32});
  cat(f.t, {f.x, f.x}, 0);
  mean_last(f.t, f.x);
  CHECK(f.t.kept().empty());
}

TEST_CASE("activations keep as many tensors as those of transformers") {
  // Tensors of the input's size that autograd keeps of ACT2FN[name](x + 1) (torch 2.15, transformers 5.24).
  const std::pair<const char*, Count> rows[] = {
      {"silu", 1},      {"swish", 1}, {"gelu", 1},  {"gelu_pytorch_tanh", 1}, {"gelu_new", 4},
      {"gelu_fast", 7}, {"relu", 1},  {"relu2", 1}, {"quick_gelu", 2},        {"tanh", 1},
      {"sigmoid", 1},   {"mish", 1},  {"linear", 0}};
  for (const DType dtype : {DType::float32, DType::bfloat16})
    for (const auto& [name, tensors] : rows) {
      INFO(name);
      Fixture f(dtype);
      const Tensor y = activate(f.t, f.x, activation_named(name));
      CHECK(y.shape() == f.x.shape());
      CHECK(kept_bytes(f.t) == tensors * 4 * 8 * size_of(dtype).value());
    }
}

TEST_CASE("operations that keep their input") {
  const auto mish = [](Trace& t, const Tensor& x) { return activate(t, x, Activation::mish); };
  for (Tensor (*op)(Trace&, const Tensor&) : {silu, gelu, +mish}) {
    Fixture f;
    op(f.t, f.x);
    CHECK(kept_bytes(f.t) == Fixture::size);
    CHECK(live(f.t, Part::saved) == 0);  // the result is gone, and the node with it: nothing stays alive
  }
  Fixture f;
  const Tensor y = pow(f.t, f.x, 2);
  CHECK(kept_bytes(f.t) == Fixture::size);
  CHECK(live(f.t, Part::saved) == Fixture::size);
}

TEST_CASE("operations that keep their output") {
  for (Tensor (*op)(Trace&, const Tensor&) : {tanh, sigmoid, rsqrt, relu, sqrt, expm1}) {
    Fixture f;
    const Tensor y = op(f.t, f.x);
    f.x = {};  // the input is not kept, so it is freed
    CHECK(live(f.t, Part::saved) == Fixture::size);
    CHECK(live(f.t, Part::temporaries) == 0);
  }
  Fixture f;
  const Tensor y = softmax(f.t, f.x);
  f.x = {};
  CHECK(live(f.t, Part::saved) == Fixture::size);
}

TEST_CASE("mul keeps a factor only when its partner needs a gradient") {
  Fixture f;
  const Tensor fixed = constant(f.t, DType::float32, {4, 8});
  const Tensor y = mul(f.t, f.x, fixed);
  REQUIRE(f.t.kept().size() == 1);  // `fixed`, for the gradient of x; x is not needed
  CHECK(f.t.kept()[0].storage.value() == Fixture::size);
  const Tensor both = mul(f.t, f.x, y);
  CHECK(f.t.kept().size() == 3);
}

TEST_CASE("a parameter is kept without counting as activation memory") {
  Fixture f;
  const Tensor y = mul(f.t, f.t.parameter(1), f.x);  // (8) broadcast over (4, 8)
  CHECK(kept_bytes(f.t) == Fixture::size);           // x for the weight's gradient; the weight itself is no activation
}

TEST_CASE("a storage counts once, and a view pins all of it") {
  Fixture f;
  const Tensors halves = chunk(f.t, f.x, 2, 1);
  const Tensor a = silu(f.t, halves[0]), b = silu(f.t, halves[1]);
  CHECK(f.t.kept().size() == 2);
  CHECK(kept_bytes(f.t) == Fixture::size);
  CHECK_FALSE(f.t.kept()[1].first);
}

TEST_CASE("linear keeps its input; a frozen weight needs none") {
  Fixture f;
  const Tensor y = linear(f.t, f.x, f.t.parameter(2));
  CHECK(kept_bytes(f.t) == Fixture::size);
  CHECK(y.shape() == Dims{4, 16});

  Trace frozen({}, {leaf({4, 8}), leaf({16, 8}, DType::float32, false)});
  const Tensor x = mul(frozen, frozen.parameter(0), 1.0);
  const Tensor z = linear(frozen, x, frozen.parameter(1));
  CHECK(kept_bytes(frozen) == 0);  // only the weight, a parameter, is needed for the input's gradient
}

TEST_CASE("layer_norm keeps its input and two float32 numbers a row") {
  Fixture f(DType::bfloat16);
  const Tensor weight = f.t.parameter(1);
  const Tensor y = layer_norm(f.t, f.x, &weight, &weight);
  CHECK(kept_bytes(f.t) == 4 * 8 * 2 + 2 * 4 * 4);
}

TEST_CASE("the gated norm of recurrent layers keeps both inputs and a float32 number a row") {
  // mamba_ssm's rmsnorm_fn, fla's FusedRMSNormGated: save_for_backward(x, weight, rstd, z).
  Fixture f;
  const Tensor gate = mul(f.t, f.x, 1.0), weight = f.t.parameter(1);
  const Tensor y = gated_rms_norm(f.t, f.x, gate, weight, 8);
  CHECK(kept_bytes(f.t) == 2 * Fixture::size + 4 * 4);
}

TEST_CASE("dropout keeps one byte an element, and nothing at rate 0") {
  Fixture f;
  CHECK(dropout(f.t, f.x, 0).storage == f.x.storage);
  const Tensor y = dropout(f.t, f.x, 0.1);
  CHECK(kept_bytes(f.t) == 4 * 8);
}

TEST_CASE("the sampler of Phi's experts keeps the factor, the choice and all gates") {
  // PhimoeMultiplier of transformers 5.24: save_for_backward(multiplier, selected_experts, masked_gates).
  Fixture f;
  const Tensor factor = constant(f.t, DType::float32, {4, 1}), chosen = constant(f.t, DType::int64, {4, 1}),
               gates = constant(f.t, DType::float32, {4, 8});
  const Tensor y = sampled_gate(f.t, f.x, factor, chosen, gates);
  CHECK(f.t.kept().size() == 3);
  CHECK(kept_bytes(f.t) == 4 * 4 + 4 * 8 + 4 * 8 * 4);
}

TEST_CASE("cross-entropy keeps the log-probabilities, the ids and a scalar") {
  Fixture f;
  const Tensor ids = constant(f.t, DType::int64, {4});
  const Tensor loss = cross_entropy(f.t, f.x, ids);
  CHECK(kept_bytes(f.t) == Fixture::size + 4 * 8 + 4);
}

TEST_CASE("autocast casts a weight once and an activation at each use") {
  Fixture f(DType::float32, DType::bfloat16);
  f.t.enter_autocast();
  const Tensor weight = f.t.parameter(2);
  const Tensor a = linear(f.t, f.x, weight), b = linear(f.t, f.x, weight);
  CHECK(live(f.t, Part::autocast_copies) == 16 * 8 * 2);  // one copy of the (16, 8) weight
  CHECK(kept_bytes(f.t) == 2 * (4 * 8 * 2));              // two copies of x
  const Tensor c = pow(f.t, a, 2);                        // pow is on the float32 list: a is copied up
  CHECK(c.dtype == DType::float32);
  CHECK(kept_bytes(f.t) == 2 * (4 * 8 * 2) + 4 * 16 * 4);
  f.t.leave_autocast();
  CHECK(f.t.autocast_copies_at_exit() == Bytes(16 * 8 * 2));
  CHECK(live(f.t, Part::autocast_copies) == 16 * 8 * 2);  // kept by the two products still
}

TEST_CASE("fused attention keeps q, k, v, the output and a float32 a query") {
  const Count batch = 2, heads = 4, kv_heads = 2, length = 40, size = 16;
  const Count q_bytes = batch * heads * length * size * 2, kv_bytes = batch * kv_heads * length * size * 2;
  const auto keeps = [&](AttentionKernel kernel) {
    Trace t({}, {leaf({batch, heads, length, size}, DType::bfloat16),
                 leaf({batch, kv_heads, length, size}, DType::bfloat16)});
    const Tensor q = mul(t, t.parameter(0), 1.0), k = mul(t, t.parameter(1), 1.0), v = mul(t, t.parameter(1), 1.0);
    const Tensor out =
        fused_attention(t, kernel, q, k, v, nullptr, ScorePairs{2 * length * length, length * length, 0});
    return kept_bytes(t);
  };
  const Count log_sums = batch * heads * length * 4;
  CHECK(keeps(AttentionKernel::flash) == 2 * q_bytes + 2 * kv_bytes + log_sums + 24);
  CHECK(keeps(AttentionKernel::cudnn) == 2 * q_bytes + 2 * kv_bytes + log_sums + 16);
  // k and v repeated to all heads; 40 queries padded to 64.
  CHECK(keeps(AttentionKernel::efficient) == 4 * q_bytes + batch * heads * 64 * 4 + 16);
}

TEST_CASE("a head size flash cannot take is padded to the next multiple of 8") {
  Trace t({}, {leaf({1, 1, 4, 20}, DType::bfloat16)});
  const Tensor q = mul(t, t.parameter(0), 1.0);
  const Tensor out = fused_attention(t, AttentionKernel::flash, q, q, q, nullptr, ScorePairs{32, 16, 20});
  CHECK(out.shape() == Dims{1, 1, 4, 20});
  CHECK(kept_bytes(t) == 4 * (4 * 24 * 2) + 4 * 4 + 24);
}
