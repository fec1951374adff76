#include "core/blocks/activation.hpp"

#include <map>

#include "core/ops/elementwise.hpp"
#include "core/ops/select.hpp"

namespace llmcalc {
namespace {

const std::map<std::string, Activation>& table() {
  static const std::map<std::string, Activation> names{{"silu", Activation::silu},
                                                       {"swish", Activation::silu},
                                                       {"gelu", Activation::gelu},
                                                       {"gelu_pytorch_tanh", Activation::gelu},
                                                       {"gelu_new", Activation::gelu_new},
                                                       {"gelu_accurate", Activation::gelu_new},
                                                       {"gelu_python_tanh", Activation::gelu_new},
                                                       {"gelu_fast", Activation::gelu_fast},
                                                       {"quick_gelu", Activation::quick_gelu},
                                                       {"relu", Activation::relu},
                                                       {"relu2", Activation::relu_squared},
                                                       {"tanh", Activation::tanh},
                                                       {"sigmoid", Activation::sigmoid},
                                                       {"mish", Activation::mish},
                                                       {"linear", Activation::none},
                                                       {"xielu", Activation::xielu}};
  return names;
}

constexpr double sqrt_2_over_pi = 0.7978845608;
constexpr double gelu_cubic = 0.044715;

// 0.5 * x * (1 + tanh(sqrt(2/pi) * (x + 0.044715 * x^3))), one kernel an operation.
Tensor gelu_new(Trace& t, const Tensor& x) {
  const Tensor half = mul(t, x, 0.5);
  Tensor inner = pow(t, x, 3);
  inner = mul(t, inner, gelu_cubic);
  inner = add(t, x, inner);
  inner = mul(t, inner, sqrt_2_over_pi);
  inner = tanh(t, inner);
  inner = add(t, inner, 1.0);
  return mul(t, half, inner);
}

// 0.5 * x * (1 + tanh(x * sqrt(2/pi) * (1 + 0.044715 * x * x)))
Tensor gelu_fast(Trace& t, const Tensor& x) {
  const Tensor half = mul(t, x, 0.5);
  const Tensor scaled = mul(t, x, sqrt_2_over_pi);
  Tensor inner = mul(t, x, gelu_cubic);
  inner = mul(t, inner, x);
  inner = add(t, inner, 1.0);
  inner = mul(t, scaled, inner);
  inner = tanh(t, inner);
  inner = add(t, inner, 1.0);
  return mul(t, half, inner);
}

// x * sigmoid(1.702 * x)
Tensor quick_gelu(Trace& t, const Tensor& x) {
  Tensor gate = mul(t, x, 1.702);
  gate = sigmoid(t, gate);
  return mul(t, x, gate);
}

// tanh's argument, then twelve more element-wise kernels over the kept input.
Tensors gelu_bloom_back(Trace& t, const Node&, const Tensors& kept, const Tensors& g) {
  const Tensor& x = kept[0];
  const Tensor slope = pointwise(t, Op::tanh, {&x}, 6);
  const Tensor first = pointwise(t, Op::mul, {&x, &slope}, 8);
  const Tensor both = pointwise(t, Op::add, {&first, &slope}, 3);
  return {pointwise(t, Op::mul, {&both, &g[0]})};
}

// Bloom's own function: a chain of kernels without gradient that keeps only its input.
Tensor gelu_bloom(Trace& t, const Tensor& x) {
  const Ref<Node> node = t.node(Op::gelu, gelu_bloom_back, {&x});
  Tensor y;
  {
    const Trace::NoGrad no_grad(t);
    y = gelu_fast(t, x);
  }
  t.keep(node, x);
  t.produced(node, y);
  return y;
}

Tensors mish_back(Trace& t, const Node& node, const Tensors& kept, const Tensors& g) {
  return {pointwise(t, node.op, {&g[0], &kept[0]}, 4)};
}

Tensor mish(Trace& t, const Tensor& x) {
  const Ref<Node> node = t.node(Op::silu, mish_back, {&x});
  t.keep(node, x);
  Tensor y = pointwise(t, Op::silu, {&x}, 4);
  t.produced(node, y);
  return y;
}

}  // namespace

const std::vector<std::string>& activation_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const auto& [name, activation] : table()) all.push_back(name);
    return all;
  }();
  return names;
}

Activation activation_named(const std::string& name) { return table().at(name); }

Tensor activate(Trace& t, const Tensor& x, Activation activation) {
  const bool chain = activation == Activation::gelu_new || activation == Activation::gelu_fast ||
                     activation == Activation::quick_gelu || activation == Activation::gelu_bloom;
  if (t.settings.fused_kernels && chain) return gelu(t, x);
  switch (activation) {
    case Activation::silu: return silu(t, x);
    case Activation::gelu: return gelu(t, x);
    case Activation::gelu_new: return gelu_new(t, x);
    case Activation::gelu_fast: return gelu_fast(t, x);
    case Activation::quick_gelu: return quick_gelu(t, x);
    case Activation::gelu_bloom: return gelu_bloom(t, x);
    case Activation::relu: return relu(t, x);
    case Activation::relu_squared: return pow(t, relu(t, x), 2);
    case Activation::tanh: return tanh(t, x);
    case Activation::sigmoid: return sigmoid(t, x);
    case Activation::mish: return mish(t, x);
    case Activation::none:
    case Activation::xielu: return x;
  }
  return x;
}

Tensor xielu(Trace& t, const Tensor& x, const Tensor& stored_p, const Tensor& stored_n) {
  const Tensor alpha_p = softplus(t, stored_p);
  const Tensor alpha_n = add(t, softplus(t, stored_n), 0.5);
  const Tensor positive = greater(t, x);
  const Tensor square = mul(t, mul(t, alpha_p, x), x);
  const Tensor above = add(t, square, mul(t, x, 0.5));
  Tensor below = expm1(t, minimum(t, x));
  below = sub(t, below, x);
  below = mul(t, below, alpha_n);
  below = add(t, below, mul(t, x, 0.5));
  return where(t, positive, above, below);
}

}  // namespace llmcalc
