#include "core/blocks/activation.hpp"

#include <map>

#include "core/ops/elementwise.hpp"

namespace llmcalc {
namespace {

const std::map<std::string, Activation> table{
    {"silu", Activation::silu},          {"swish", Activation::silu},
    {"gelu", Activation::gelu},          {"gelu_pytorch_tanh", Activation::gelu},
    {"gelu_new", Activation::gelu_new},  {"gelu_python_tanh", Activation::gelu},
    {"relu", Activation::relu},          {"relu2", Activation::relu_squared},
    {"tanh", Activation::tanh}};

// 0.5 * x * (1 + tanh(sqrt(2/pi) * (x + 0.044715 * x^3))), one kernel an operation.
Tensor gelu_new(Trace& t, const Tensor& x) {
  const Tensor half = mul(t, x, 0.5);
  Tensor inner = pow(t, x, 3);
  inner = mul(t, inner, 0.044715);
  inner = add(t, x, inner);
  inner = mul(t, inner, 0.7978845608);
  inner = tanh(t, inner);
  inner = add(t, inner, 1.0);
  return mul(t, half, inner);
}

}  // namespace

const std::vector<std::string>& activation_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const auto& [name, activation] : table) all.push_back(name);
    return all;
  }();
  return names;
}

Activation activation_named(const std::string& name) { return table.at(name); }

Tensor activate(Trace& t, const Tensor& x, Activation activation) {
  switch (activation) {
    case Activation::silu: return silu(t, x);
    case Activation::gelu: return gelu(t, x);
    case Activation::gelu_new: return gelu_new(t, x);
    case Activation::relu: return relu(t, x);
    case Activation::relu_squared: return pow(t, relu(t, x), 2);
    case Activation::tanh: return tanh(t, x);
  }
  return x;
}

}  // namespace llmcalc
