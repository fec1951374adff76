// The backward pass: order, sums of gradients, what is freed when, recomputation, repeated layers.
#include <map>
#include <utility>

#include "core/ops/cast.hpp"
#include "core/ops/data.hpp"
#include "core/ops/elementwise.hpp"
#include "core/ops/fused.hpp"
#include "core/ops/matmul.hpp"
#include "core/ops/normalise.hpp"
#include "core/ops/views.hpp"
#include "tests/catch.hpp"
#include "tests/support/graph.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

// Everything after the forward pass belongs to `backward`.
void run_backward(Trace& t, Tensor loss) {
  t.ledger.enter(Phase::backward);
  t.backward(std::move(loss), 0);
}

// Mean over both axes of a matrix, in whatever order it lies.
Tensor scalar(Trace& t, const Tensor& x) {
  const Tensor by_row = x.rank() == 2 ? transpose(t, mean_last(t, x), 0, 1) : x;
  return mean_last(t, by_row);
}

}  // namespace

TEST_CASE("a linear layer costs 2MHK forward and 4MHK backward") {
  const Count m = 6, h = 8, k = 16;
  Trace t({}, {leaf({m, h}), leaf({k, h})});
  Tensor loss = scalar(t, linear(t, mul(t, t.parameter(0), 1.0), t.parameter(1)));
  run_backward(t, std::move(loss));
  CHECK(product_flops(t, Pass::forward) == 2 * m * h * k);
  CHECK(product_flops(t, Pass::backward) == 4 * m * h * k);
}

TEST_CASE("element-wise FLOPs of one kernel: by hand, forward and backward") {
  const auto per_element = [](Op op, Tensor (*run)(Trace&, const Tensor&)) {
    Trace t({}, {leaf({4, 8}), leaf({8})});
    run_backward(t, scalar(t, run(t, mul(t, t.parameter(0), 1.0))));
    std::map<Pass, Count> sum;
    for (const Launch& l : t.tape())
      if (l.op == op) sum[l.pass] += l.elementwise * l.repeat;
    return std::pair(sum[Pass::forward] / (4 * 8), sum[Pass::backward] / (4 * 8));
  };
  using Each = std::pair<Count, Count>;
  const auto rms = [](Trace& t, const Tensor& x) { return rms_norm_kernel(t, x, nullptr); };
  const auto gated = [](Trace& t, const Tensor& x) { return gated_activation(t, x, x); };
  const auto plain_softmax = [](Trace& t, const Tensor& x) { return softmax(t, x); };
  const auto norm = [](Trace& t, const Tensor& x) { return layer_norm(t, x, nullptr, nullptr); };
  const auto dropped = [](Trace& t, const Tensor& x) { return dropout(t, x, 0.1); };
  // Square, sum, scale, weight, round; the gradient needs the norm again and as much once more.
  CHECK(per_element(Op::rms_norm, +rms) == Each(5, 10));
  // Exponentiate, add, divide, two products; likewise.
  CHECK(per_element(Op::gated_activation, +gated) == Each(5, 10));
  // Compare, subtract, exponentiate, add up, divide; y (g - sum of g y): product, sum, difference, product.
  CHECK(per_element(Op::softmax, +plain_softmax) == Each(5, 4));
  // Two sums, subtract, square, scale, weight, bias; as for the other norm.
  CHECK(per_element(Op::layer_norm, +norm) == Each(7, 14));
  // Mask and scale.
  CHECK(per_element(Op::dropout, +dropped) == Each(2, 2));
}

TEST_CASE("a gradient nobody needs is not computed") {
  const Count m = 6, h = 8, k = 16;
  Trace t({}, {leaf({m, h}, DType::float32, false), leaf({k, h})});
  run_backward(t, scalar(t, linear(t, t.parameter(0), t.parameter(1))));
  CHECK(product_flops(t, Pass::backward) == 2 * m * h * k);  // the weight's alone
}

TEST_CASE("after backward only the gradients are left") {
  Trace t({}, {leaf({4, 8}), leaf({16, 8})});
  {
    Tensor x = silu(t, mul(t, t.parameter(0), 1.0));
    Tensor loss = scalar(t, linear(t, x, t.parameter(1)));
    x = {};
    CHECK(live(t, Part::saved) > 0);
    run_backward(t, std::move(loss));
  }
  CHECK(live(t, Part::saved) == 0);
  CHECK(live(t, Part::temporaries) == 0);
  CHECK(live(t, Part::gradients) == (4 * 8 + 16 * 8) * 4);
}

TEST_CASE("a gradient that arrives twice is summed in place, unless the first is a view") {
  // One row times a large square weight, twice: the weight's gradients outweigh everything else. Through `linear`,
  // which multiplies by the weight's transpose, they arrive as transposed views; through `mm` as they are.
  const Count n = 64, weight_bytes = n * n * 4;
  const auto peak = [&](bool as_view) {
    Trace t({}, {leaf({1, n}), leaf({n, n})});
    const Tensor x = mul(t, t.parameter(0), 1.0);
    const auto product = [&] { return as_view ? linear(t, x, t.parameter(1)) : mm(t, x, t.parameter(1)); };
    Tensor a = product(), b = product();
    Tensor loss = scalar(t, add(t, a, b));
    a = b = {};
    run_backward(t, std::move(loss));
    return t.ledger.peak(Phase::backward).total.value();
  };
  const Count small = weight_bytes / 2;  // more than all the rows together
  CHECK(peak(false) >= 2 * weight_bytes);
  CHECK(peak(false) < 2 * weight_bytes + small);
  CHECK(peak(true) >= 3 * weight_bytes);
  CHECK(peak(true) < 3 * weight_bytes + small);
}

TEST_CASE("gradients that exist are added to") {
  for (const bool exist : {false, true}) {
    Trace t({{}, exist}, {leaf({4, 8})});
    run_backward(t, scalar(t, mul(t, t.parameter(0), 2.0)));
    CHECK(live(t, Part::gradients) == (exist ? 0 : 4 * 8 * 4));  // existing ones are on the caller's books
    CHECK(live(t, Part::temporaries) == 0);
  }
}

TEST_CASE("a checkpointed region keeps its input and runs again, up to its last kept tensor") {
  const Count m = 6, h = 8;
  const auto region = [](Trace& t, const Tensors& inputs) {
    const Tensor a = silu(t, linear(t, inputs[0], t.parameter(1)));
    return linear(t, a, t.parameter(2));
  };
  const auto run = [&](bool checkpoint) {
    Trace t({}, {leaf({m, h}), leaf({h, h}), leaf({h, h})});
    const Tensor x = mul(t, t.parameter(0), 1.0);
    Tensor y = checkpoint ? t.checkpoint({x}, region) : region(t, {x});
    Tensor loss = scalar(t, y);
    y = {};
    const Count kept = kept_bytes(t);
    run_backward(t, std::move(loss));
    return std::tuple(kept, product_flops(t, Pass::recompute), product_flops(t, Pass::backward),
                      live(t, Part::gradients));
  };
  const auto [kept, recomputed, backward, gradients] = run(true);
  const auto [kept_plain, recomputed_plain, backward_plain, gradients_plain] = run(false);
  CHECK(kept == m * h * 4);            // the region's input
  CHECK(kept_plain == 3 * m * h * 4);  // x, and silu's input and output
  CHECK(recomputed == 2 * m * h * h);  // the first product; the second keeps its operands before it would run
  CHECK(recomputed_plain == 0);
  CHECK(backward == backward_plain);
  CHECK(gradients == gradients_plain);
}

TEST_CASE("a region runs again under the autocast it ran under") {
  // torch.utils.checkpoint restores autocast's state: the product that silu keeps is a 16-bit one both times.
  Trace t({DType::bfloat16}, {leaf({6, 8}), leaf({8, 8})});
  t.enter_autocast();
  const Tensor x = mul(t, t.parameter(0), 1.0);
  const auto region = [](Trace& inner, const Tensors& in) {
    return silu(inner, linear(inner, in[0], inner.parameter(1)));
  };
  Tensor loss = scalar(t, t.checkpoint({x}, region));
  t.leave_autocast();
  run_backward(t, std::move(loss));
  Count again = 0;
  for (const Launch& launch : t.tape()) {
    if (launch.pass != Pass::recompute || launch.op != Op::mm) continue;
    CHECK(launch.dtype == DType::bfloat16);
    ++again;
  }
  CHECK(again == 1);
}

TEST_CASE("layers that are repeated on the books count like layers that are traced") {
  const auto run = [](bool every_block, bool checkpoint, std::optional<DType> autocast) {
    const Count layers = 11, m = 6, h = 8;
    Trace t({autocast}, {leaf({m, h}), leaf({h, h}), leaf({h})});
    t.trace_every_block = every_block;
    t.enter_autocast();
    Tensor x = mul(t, t.parameter(0), 1.0);
    t.repeat_blocks(layers, [&](Count i) {
      const auto layer = [i](Trace& trace, const Tensors& inputs) {
        trace.layer_instance = static_cast<int>(i) + 1;
        const Tensor bias = trace.parameter(2);
        Tensor y = linear(trace, inputs[0], trace.parameter(1), &bias);
        y = silu(trace, y);
        y = cast(trace, y, inputs[0].dtype);
        trace.layer_instance = 0;
        return add(trace, inputs[0], y);
      };
      x = checkpoint ? t.checkpoint({x}, layer) : layer(t, {x});
    });
    Tensor loss = scalar(t, x);
    x = {};
    t.leave_autocast();
    const Count kept = kept_bytes(t);
    run_backward(t, std::move(loss));
    Count launches = 0;
    for (const Launch& l : t.tape()) launches += l.repeat;
    return std::tuple(kept, t.ledger.peak(Phase::forward).total, t.ledger.peak(Phase::backward).total,
                      live(t, Part::gradients), live(t, Part::autocast_copies), product_flops(t, Pass::forward),
                      product_flops(t, Pass::backward), product_flops(t, Pass::recompute), launches);
  };
  for (const bool checkpoint : {false, true})
    for (const std::optional<DType> autocast : {std::optional<DType>{}, std::optional(DType::bfloat16)})
      CHECK(run(true, checkpoint, autocast) == run(false, checkpoint, autocast));
}

TEST_CASE("shapes that do not fit are refused with both lengths") {
  Trace t({}, {leaf({4, 8}), leaf({16, 9}), leaf({5, 8})});
  CHECK_THROWS_WITH(linear(t, t.parameter(0), t.parameter(1)), Catch::Matchers::ContainsSubstring("8 and 9"));
  CHECK_THROWS_WITH(add(t, t.parameter(0), t.parameter(2)), Catch::Matchers::ContainsSubstring("length 4"));
  CHECK_THROWS_WITH(view(t, transpose(t, t.parameter(0), 0, 1), {32}), Catch::Matchers::ContainsSubstring("(32)"));
}
