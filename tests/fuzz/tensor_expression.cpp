// Any text as a chain of operations on a tensor. The first line is its shape when it is one.
#include "core/tensor_expression/evaluate.hpp"

#include "tests/fuzz/target.hpp"

namespace {

void take(std::string_view input) {
  using namespace llmcalc;
  Dims shape{2, 3, 4};
  const std::size_t line = input.find('\n');
  if (line != std::string_view::npos) {
    shape = expression::parse_shape(input.substr(0, line));
    input.remove_prefix(line + 1);
  }
  const expression::Chain chain = expression::parse(input);
  fuzz::require(expression::parse(expression::to_string(chain)) == chain, "what is printed is read again");
  const expression::TensorHistory history = expression::evaluate(shape, DType::bfloat16, chain);
  for (const expression::TensorStep& step : history.steps) {
    fuzz::require(step.elements() <= expression::max_elements, "a step has a bounded size");
    fuzz::require(step.layout.offset >= 0, "an offset is not negative");
    const Int128 reach = (static_cast<Int128>(step.layout.offset) + step.layout.span()) * size_of(step.dtype).value();
    fuzz::require(step.layout.span() == 0 || reach <= history.storage_bytes[step.storage],
                  "a tensor lies inside its storage");
  }
}

}  // namespace

LLMCALC_FUZZ_TARGET(take)
