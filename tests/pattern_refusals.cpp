// Each reason for which an equation of einsum, or a pattern of rearrange, reduce and repeat, is refused. What PyTorch
// and einops take and refuse is in their tables; here are the words.
#include "core/diagnostics.hpp"
#include "core/einsum/equation.hpp"
#include "core/einsum/matmul.hpp"
#include "core/einsum/rearrangement.hpp"
#include "core/tensor_expression/expression.hpp"
#include "tests/catch.hpp"
#include "tests/support/refusal.hpp"

using namespace llmcalc;
using Catch::Matchers::ContainsSubstring;
using einsum::Rearrangement;
using test::refusal;

namespace {

std::string pattern(Rearrangement kind, const std::string& text) {
  return refusal([&] { einsum::parse_pattern(text, kind); });
}

std::string equation(const std::string& text, const std::vector<Dims>& shapes) {
  return refusal([&] { einsum::bind(einsum::parse_equation(text), shapes); });
}

std::string lengths(const std::vector<std::string>& words) {
  return refusal([&] { einsum::parse_axis_lengths(words); });
}

}  // namespace

TEST_CASE("refusals of patterns: brackets, names and numbers") {
  constexpr auto rearrange = Rearrangement::rearrange, reduce = Rearrangement::reduce, repeat = Rearrangement::repeat;
  CHECK_THAT(pattern(rearrange, "a (b (c)) -> a b c"), ContainsSubstring("brackets inside brackets"));
  CHECK_THAT(pattern(rearrange, "a b) -> a b"), ContainsSubstring("a bracket is closed that was not opened"));
  CHECK_THAT(pattern(rearrange, "(a b -> a b"), ContainsSubstring("a bracket is not closed"));
  CHECK_THAT(pattern(rearrange, "_a b -> b _a"), ContainsSubstring("'_a' begins or ends with an underscore"));
  CHECK_THAT(pattern(rearrange, "a_ b -> b a_"), ContainsSubstring("'a_' begins or ends with an underscore"));
  CHECK_THAT(pattern(rearrange, "2a b -> b 2a"), ContainsSubstring("'2a' is neither a name nor a number"));
  CHECK_THAT(pattern(repeat, "a -> a 99999999999999999999"), ContainsSubstring("does not fit 64 bits"));
  CHECK_THAT(pattern(repeat, "a -> a 0"), ContainsSubstring("an axis has to have a length above 0"));
  CHECK_THAT(pattern(rearrange, "... a ... -> a ..."), ContainsSubstring("two ellipses on one side"));
  CHECK_THAT(pattern(rearrange, "a b -> a a b"), ContainsSubstring("axis a stands twice on one side"));
  CHECK_THAT(pattern(rearrange, "a -> a ..."), ContainsSubstring("an ellipsis on the right side only"));
  CHECK_THAT(pattern(rearrange, "(a ...) -> a ..."), ContainsSubstring("an ellipsis in brackets on the left side"));
  CHECK_THAT(pattern(rearrange, "a 2 -> a"), ContainsSubstring("no anonymous axes but 1, and here is 2"));
  CHECK_THAT(pattern(repeat, "a 2 -> a"), ContainsSubstring("keeps all axes of the left side, and 2 has no name"));
  CHECK_THAT(pattern(reduce, "a -> a 2"), ContainsSubstring("anonymous axis 2 on the right side"));
  CHECK_THAT(pattern(rearrange, std::string(1001, ' ')), ContainsSubstring("at most 1000 characters"));
}

TEST_CASE("refusals of axis lengths: all at once") {
  CHECK_THAT(lengths({"h=4", "h=4"}), ContainsSubstring("axis 'h' is given twice"));
  CHECK_THAT(lengths({"h=0"}), ContainsSubstring("h: an axis has to have a length above 0"));
  CHECK_THAT(lengths({"=4"}), ContainsSubstring("'=4' is not of the form axis=length"));
  const std::string all = lengths({"h", "d=x", "e=0"});
  CHECK_THAT(all, ContainsSubstring("'h' is not") && ContainsSubstring("d: ") && ContainsSubstring("e: an axis"));
  // 2^62 and 4 merged: 2^64 elements.
  const auto merged = [] {
    einsum::apply(einsum::parse_pattern("a b -> (a b)", Rearrangement::rearrange), Rearrangement::rearrange,
                  {Count{1} << 62, 4}, {});
  };
  CHECK_THAT(refusal(merged), ContainsSubstring("2^62") || ContainsSubstring("64 bits"));
}

TEST_CASE("refusals of equations") {
  CHECK_THAT(equation("...i...->i", {{2, 3}}), ContainsSubstring("two ellipses in '...i...'"));
  CHECK_THAT(equation("i1->i", {{2, 3}}), ContainsSubstring("'1' is no letter"));
  CHECK_THAT(equation("ij,jk->ik", {{2, 3}}), ContainsSubstring("has 2 operands, but 1 shape is given"));
  CHECK_THAT(equation("ij->ji", {{2, 3}, {3, 4}}), ContainsSubstring("has 1 operand, but 2 shapes are given"));
  CHECK_THAT(equation(std::string(1001, 'i'), {}), ContainsSubstring("at most 1000 characters"));
  CHECK_THAT(equation("i" + std::string(32, ','), {}), ContainsSubstring("at most 32 operands"));
  constexpr Count large = Count{1} << 31;
  CHECK_THAT(equation("i,j,k->ijk", {{large}, {large}, {large}}), ContainsSubstring("more than 2^62 elements"));
  CHECK_THAT(equation("a,b,c,d,e,f,g,h,i->abcdefghi", std::vector<Dims>(9, Dims{1})),
             ContainsSubstring("the result has more than 8 axes"));
  CHECK_THAT(refusal([] { einsum::linear(0, 4, {4}); }), ContainsSubstring("at least 1 input and 1 output feature"));
  CHECK_THAT(refusal([] { einsum::linear(4, 0, {4}); }), ContainsSubstring("at least 1 input and 1 output feature"));
  CHECK_THAT(refusal([] { einsum::linear(4, 4, {}); }), ContainsSubstring("not the scalar ()"));
  CHECK_THAT(refusal([] { einsum::matmul({}, {4}); }), ContainsSubstring("not the scalar ()"));
}
