// Any text as a shape.
#include "core/tensor_expression/expression.hpp"

#include "tests/fuzz/target.hpp"

namespace {

void take(std::string_view input) {
  using namespace llmcalc;
  const Dims shape = expression::parse_shape(input);
  fuzz::require(elements(shape) >= 0 && elements(shape) <= expression::max_elements, "a shape has a bounded size");
  fuzz::require(expression::parse_shape(to_string(shape)) == shape, "what is printed is read again");
}

}  // namespace

LLMCALC_FUZZ_TARGET(take)
