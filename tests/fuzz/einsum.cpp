// Any text as an equation, with the shapes on the lines after it.
#include "core/einsum/contraction.hpp"

#include "core/tensor_expression/expression.hpp"
#include "tests/fuzz/target.hpp"

namespace {

void take(std::string_view input) {
  using namespace llmcalc;
  const einsum::Equation equation = einsum::parse_equation(input.substr(0, input.find('\n')));
  fuzz::require(einsum::parse_equation(einsum::to_string(equation)) == equation, "what is printed is read again");
  std::vector<Dims> shapes;
  for (std::size_t line = input.find('\n'); line != std::string_view::npos; line = input.find('\n')) {
    input.remove_prefix(line + 1);
    shapes.push_back(expression::parse_shape(input.substr(0, input.find('\n'))));
    if (shapes.size() > equation.operands.size()) break;
  }
  const einsum::Problem problem = einsum::bind(equation, shapes);
  const einsum::Contraction contraction = einsum::contract(problem);
  fuzz::require(contraction.best.flops >= Flops(0) && contraction.best.exact >= Flops(0), "no negative FLOPs");
  fuzz::require(!contraction.exhaustive || contraction.best.flops + contraction.best.elementwise <=
                                               contraction.left_to_right.flops + contraction.left_to_right.elementwise,
                "the search does no worse than the order written");
}

}  // namespace

LLMCALC_FUZZ_TARGET(take)
