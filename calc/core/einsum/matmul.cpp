#include "core/einsum/matmul.hpp"

#include "core/diagnostics.hpp"

namespace llmcalc::einsum {
namespace {

[[noreturn]] void fail(const std::string& message, std::string hint = {}) {
  throw Error(Exit::bad_input, message, std::move(hint));
}

}  // namespace

Product matmul(const Dims& a, const Dims& b) {
  for (const Dims* shape : {&a, &b})
    if (shape->empty()) fail("a matrix product takes tensors with at least one axis, not the scalar ()");
  const int inner_a = a.rank() - 1, inner_b = b.rank() == 1 ? 0 : b.rank() - 2;
  if (a[inner_a] != b[inner_b]) {
    const bool turned = b.rank() >= 2 && b.back() == a[inner_a];
    fail("the inner axes differ: axis " + std::to_string(inner_a) + " of " + llmcalc::to_string(a) + " has length " +
             std::to_string(a[inner_a]) + ", axis " + std::to_string(inner_b) + " of " + llmcalc::to_string(b) +
             " has length " + std::to_string(b[inner_b]),
         turned ? "it fits with the second one transposed, as a linear layer stores its weight" : "");
  }
  // Leading axes broadcast from the right.
  for (int i = 3; i <= a.rank() && i <= b.rank(); ++i) {
    const Count x = a[a.rank() - i], y = b[b.rank() - i];
    if (x != y && x != 1 && y != 1)
      fail("the leading axes do not broadcast: axis " + std::to_string(a.rank() - i) + " of " + llmcalc::to_string(a) +
           " has length " + std::to_string(x) + ", axis " + std::to_string(b.rank() - i) + " of " +
           llmcalc::to_string(b) + " has length " + std::to_string(y));
  }
  const char* equation = "...mk,...kn->...mn";
  if (a.rank() == 1 && b.rank() == 1) {
    equation = "k,k->";
  } else if (a.rank() == 1) {
    equation = "k,...kn->...n";
  } else if (b.rank() == 1) {
    equation = "...mk,k->...m";
  }
  return {parse_equation(equation), {a, b}};
}

Linear linear(Count in, Count out, const Dims& input) {
  if (in < 1 || out < 1) fail("a linear layer has at least 1 input and 1 output feature");
  if (input.empty()) fail("a linear layer takes an input with at least one axis, not the scalar ()");
  if (input.back() != in)
    fail("axis " + std::to_string(input.rank() - 1) + " of the input " + llmcalc::to_string(input) + " has length " +
         std::to_string(input.back()) + ", but the layer has " + std::to_string(in) + " input features");
  Linear result;
  result.weight_stored = {out, in};
  result.product = {parse_equation("...h,kh->...k"), {input, result.weight_stored}};
  return result;
}

}  // namespace llmcalc::einsum
