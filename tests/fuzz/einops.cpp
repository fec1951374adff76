// Any text as a pattern; the lines after it are the shape and axis=length.
#include "core/einsum/rearrangement.hpp"

#include "core/tensor_expression/expression.hpp"
#include "tests/fuzz/target.hpp"

namespace {

using namespace llmcalc;

void take_as(std::string_view input, einsum::Rearrangement kind) {
  const einsum::Pattern pattern = einsum::parse_pattern(input.substr(0, input.find('\n')), kind);
  fuzz::require(einsum::parse_pattern(einsum::to_string(pattern), kind) == pattern, "what is printed is read again");
  Dims shape{2, 6, 4};
  std::vector<std::string> words;
  std::size_t line = input.find('\n');
  if (line != std::string_view::npos) {
    input.remove_prefix(line + 1);
    line = input.find('\n');
    shape = expression::parse_shape(input.substr(0, line));
  }
  while (line != std::string_view::npos) {
    input.remove_prefix(line + 1);
    line = input.find('\n');
    if (!input.empty()) words.emplace_back(input.substr(0, line));
  }
  const einsum::Rearranged result = einsum::apply(pattern, kind, shape, einsum::parse_axis_lengths(words));
  fuzz::require(elements(result.shape) == result.elements_out, "the result has its elements");
  fuzz::require(kind != einsum::Rearrangement::rearrange || result.elements_in == result.elements_out,
                "rearranging keeps all elements");
}

void take(std::string_view input) {
  // Each operation refuses what another takes, so that one refusal must not hide the others.
  for (const einsum::Rearrangement kind :
       {einsum::Rearrangement::reduce, einsum::Rearrangement::repeat, einsum::Rearrangement::rearrange}) {
    try {
      take_as(input, kind);
    } catch (const Error& error) {
      fuzz::require(error.exit() == Exit::bad_input, "a reader refuses with bad_input");
    }
  }
}

}  // namespace

LLMCALC_FUZZ_TARGET(take)
