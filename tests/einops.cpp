// rearrange, reduce and repeat against einops.
#include "core/diagnostics.hpp"
#include "core/einsum/rearrangement.hpp"
#include "core/tensor_expression/expression.hpp"
#include "tests/catch.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/table.hpp"

using Catch::Matchers::ContainsSubstring;
using namespace llmcalc;
using einsum::parse_pattern;
using einsum::Rearranged;
using einsum::Rearrangement;
using expression::parse_shape;

namespace {

Rearrangement kind_of(const std::string& operation) {
  if (operation == "reduce") return Rearrangement::reduce;
  return operation == "repeat" ? Rearrangement::repeat : Rearrangement::rearrange;
}

Rearranged apply(Rearrangement kind, const std::string& pattern, const std::string& shape, const std::string& axes) {
  return einsum::apply(parse_pattern(pattern, kind), kind, parse_shape(shape),
                       einsum::parse_axis_lengths(test::split(axes, ',')));
}

std::string refusal(Rearrangement kind, const std::string& pattern, const std::string& shape,
                    const std::string& axes = "") {
  return test::refusal([&] { apply(kind, pattern, shape, axes); });
}

}  // namespace

TEST_CASE("patterns give what einops gives") {
  const auto compare = [](const test::Row& row, test::Comparison& comparison) {
    const Rearrangement kind = kind_of(row.text("operation"));
    const std::string axes = row.text("axes") == "-" ? "" : row.text("axes");
    if (refusal(kind, row.text("pattern"), row.text("shape"), axes) != "accepted")
      return comparison.equal("result", std::string("error"));
    const Rearranged found = apply(kind, row.text("pattern"), row.text("shape"), axes);
    comparison.equal("result", test::in_brackets(found.shape));
    CHECK(found.elements_out == elements(found.shape));
    const einsum::Pattern pattern = parse_pattern(row.text("pattern"), kind);
    CHECK(parse_pattern(einsum::to_string(pattern), kind) == pattern);
    if (kind == Rearrangement::reduce) return;
    comparison.equal("stride", test::in_brackets(found.stride.value()));
    comparison.equal("shares", !found.copies);
  };
  test::check_table({"einops.tsv", {"operation", "pattern", "shape", "axes"}, compare, 300});
}

TEST_CASE("refusals of patterns name the axis and both lengths") {
  constexpr auto rearrange = Rearrangement::rearrange, reduce = Rearrangement::reduce, repeat = Rearrangement::repeat;
  CHECK_THAT(
      refusal(rearrange, "b s (h d) -> b h s d", "2,16,30", "h=4"),
      ContainsSubstring("axis 2 of (2, 16, 30), of length 30, does not divide into (h d): 30 is no multiple of 4"));
  CHECK_THAT(refusal(rearrange, "b (h d) -> b h d", "2,12", "h=3,d=5"),
             ContainsSubstring("length 12, should be h d = 15"));
  CHECK_THAT(refusal(rearrange, "b (h d) -> b h d", "2,12"), ContainsSubstring("more than one"));
  CHECK_THAT(refusal(rearrange, "a b -> a b c", "2,3"), ContainsSubstring("axis c is on the right side only"));
  CHECK_THAT(refusal(rearrange, "a b -> a", "2,3"), ContainsSubstring("axis b is on the left side only"));
  CHECK_THAT(refusal(rearrange, "a a -> a", "2,2"), ContainsSubstring("axis a stands twice"));
  CHECK_THAT(refusal(rearrange, "a b -> b a", "2,3,4"), ContainsSubstring("takes a tensor of 2 axes"));
  CHECK_THAT(refusal(rearrange, "a ((b c)) -> a b c", "2,3"), ContainsSubstring("brackets inside"));
  CHECK_THAT(refusal(rearrange, "a b > b a", "2,3"), ContainsSubstring("there is no ->"));
  CHECK_THAT(refusal(rearrange, "a b -> b a", "2,3", "height=4"), ContainsSubstring("'height' is not in"));
  CHECK_THAT(refusal(rearrange, "a b -> b a", "2,3", "a=0"), ContainsSubstring("above 0"));
  CHECK_THAT(refusal(rearrange, "a b -> b a", "2,3", "a"), ContainsSubstring("axis=length"));
  CHECK_THAT(refusal(rearrange, "a, b -> b a", "2,3"), ContainsSubstring("','"));
  CHECK_THAT(refusal(reduce, "b s d -> b e", "2,16,8"), ContainsSubstring("axis e is on the right side only"));
  CHECK_THAT(refusal(repeat, "b d -> b r d", "2,8"), ContainsSubstring("axis r has no length"));
  CHECK_THAT(refusal(repeat, "b d -> (b r) d", "2,8", "r=9223372036854775807"), ContainsSubstring("2^62"));
}
