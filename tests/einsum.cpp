// einsum, matmul and linear against PyTorch, and what must hold for any equation.
#include "core/einsum/contraction.hpp"
#include "core/einsum/matmul.hpp"

#include <algorithm>

#include "core/diagnostics.hpp"
#include "core/tensor_expression/expression.hpp"
#include "tests/catch.hpp"
#include "tests/support/random.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/table.hpp"

using Catch::Matchers::ContainsSubstring;
using namespace llmcalc;
using einsum::Contraction;
using einsum::Equation;
using einsum::parse_equation;
using einsum::Problem;
using expression::parse_shape;

namespace {

std::vector<Dims> shapes_of(const std::string& text) {
  std::vector<Dims> shapes;
  for (const std::string& one : test::split(text, ' ')) shapes.push_back(parse_shape(one));
  return shapes;
}

Problem problem(const std::string& equation, const std::string& shapes) {
  return einsum::bind(parse_equation(equation), shapes_of(shapes));
}

Contraction contracted(const std::string& equation, const std::string& shapes) {
  return einsum::contract(problem(equation, shapes));
}

std::string refusal(const std::string& equation, const std::string& shapes) {
  return test::refusal([&] { problem(equation, shapes); });
}

std::string matmul_refusal(const Dims& a, const Dims& b) {
  return test::refusal([&] { einsum::matmul(a, b); });
}

Contraction product(const Dims& a, const Dims& b) {
  const einsum::Product matmul = einsum::matmul(a, b);
  return einsum::contract(einsum::bind(matmul.equation, matmul.shapes));
}

// Is an axis of length 1 summed somewhere? FlopCounterMode sees no product with a summed axis there; a product with
// K = 1 is one here, as in a matrix product.
bool sums_length_one(const Problem& p) {
  for (std::size_t axis = 0; axis < p.names.size(); ++axis)
    if (p.lengths[axis] == 1 && (p.output >> axis & 1U) == 0) return true;
  return false;
}

}  // namespace

TEST_CASE("einsum gives the shapes and FLOPs of PyTorch") {
  int with_flops = 0;
  const auto compare = [&](const test::Row& row, test::Comparison& comparison) {
    if (refusal(row.text("equation"), row.text("shapes")) != "accepted")
      return comparison.equal("result", std::string("error"));
    const Problem p = problem(row.text("equation"), row.text("shapes"));
    comparison.equal("result", test::in_brackets(p.shape));
    if (sums_length_one(p)) return;
    comparison.equal("flops", einsum::contract(p).left_to_right.flops.value());
    with_flops += row.text("flops") != "0";
  };
  test::check_table({"einsum.tsv", {"equation", "shapes"}, compare, 320});
  CHECK(with_flops > 40);
}

TEST_CASE("matmul gives the shapes of PyTorch") {
  const auto compare = [](const test::Row& row, test::Comparison& comparison) {
    const Dims a = parse_shape(row.text("a")), b = parse_shape(row.text("b"));
    if (matmul_refusal(a, b) != "accepted") return comparison.equal("result", std::string("error"));
    const einsum::Product matmul = einsum::matmul(a, b);
    comparison.equal("result", test::in_brackets(einsum::bind(matmul.equation, matmul.shapes).shape));
  };
  test::check_table({"matmul.tsv", {"a", "b"}, compare, 90});
}

TEST_CASE("FLOPs of matrix products and of vectors") {
  // (M,K) x (K,N): 2MNK; exactly M N (2K - 1); backward twice the forward.
  const Contraction c = product({3, 4}, {4, 5});
  CHECK(c.best.flops == Flops(2 * 3 * 4 * 5));
  CHECK(c.best.exact == Flops(3 * 5 * (2 * 4 - 1)));
  CHECK(c.backward() == Flops(2 * 120));
  CHECK(c.best.elementwise == Flops(0));
  CHECK(product({4}, {4}).best.flops == Flops(8));      // dot: PyTorch's counter has 0
  CHECK(product({3, 4}, {4}).best.flops == Flops(24));  // matrix times vector: 0 there too
  CHECK(product({4}, {2, 4, 5}).best.flops == Flops(80));
  CHECK(product({7, 1, 3, 4}, {2, 4, 5}).best.flops == Flops(1680));
  CHECK(product({1, 1}, {1, 1}).best.flops == Flops(2));
  CHECK(product({3, 0}, {0, 5}).best.exact == Flops(0));  // nothing to sum: zeros
  CHECK(to_string(product({1048576, 1048576, 1048576}, {1048576, 1048576}).best.flops) ==
        "2417851639229258349412352");  // 2 * 2^80
}

TEST_CASE("products without a summed axis are counted apart") {
  const Contraction outer = contracted("i,j->ij", "(3) (5)");
  CHECK(outer.best.flops == Flops(0));
  CHECK(outer.best.elementwise == Flops(15));
  CHECK(outer.best.exact == Flops(15));
  CHECK(contracted("ij->", "(3,4)").best.elementwise == Flops(11));  // 12 elements, 11 additions
  CHECK(contracted("ii->i", "(4,4)").best.exact == Flops(0));
  // j is only in the first: its sum comes first, 3 * (4 - 1) additions, then 3 * 5 products.
  CHECK(contracted("ij,k->ik", "(3,4) (5)").best.elementwise == Flops(9 + 15));
}

TEST_CASE("the best order beats the order written") {
  // (8,16) (16,4) (4,32): from the left 2*8*4*16 + 2*8*32*4, the other way 2*16*32*4 + 2*8*32*16.
  const Contraction chain = contracted("ij,jk,kl->il", "(8,16) (16,4) (4,32)");
  CHECK(chain.best.flops == Flops(1024 + 2048));
  CHECK(chain.left_to_right.flops == Flops(3072));
  const Contraction vectors = contracted("ij,jk,k->i", "(100,100) (100,100) (100)");
  CHECK(vectors.best.flops == Flops(2 * 2 * 100 * 100));
  CHECK(vectors.left_to_right.flops == Flops(2 * 100 * 100 * 100 + 2 * 100 * 100));
  REQUIRE(vectors.best.pairings.size() == 2);
  CHECK(vectors.best.pairings[0].equation == "jk,k->j");
  CHECK(contracted("ab,bc,cd,de,ef,fg,gh,hi,ij,jk,kl->al",
                   "(2,2) (2,2) (2,2) (2,2) (2,2) (2,2) (2,2) (2,2) (2,2) (2,2) (2,2)")
            .exhaustive == false);
}

TEST_CASE("FLOPs do not depend on the names of the axes, nor on their order in an operand") {
  test::Random random(3);
  for (const test::Row& row : test::rows("einsum.tsv")) {
    if (row.text("result") == "error") continue;
    const Equation equation = parse_equation(row.text("equation"));
    std::string letters = "ghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZabcdef";
    for (std::size_t i = letters.size(); i > 1; --i)
      std::swap(letters[i - 1], letters[static_cast<std::size_t>(random.below(static_cast<int>(i)))]);
    const std::string from = "abcdefXYzZ";
    Equation renamed = equation;
    const auto rename = [&](std::string& term) {
      for (char& c : term)
        if (c != '.') c = letters[from.find(c)];
    };
    for (std::string& term : renamed.operands) rename(term);
    if (!renamed.output) continue;  // an implicit output is in the order of the alphabet
    rename(*renamed.output);
    INFO(row.where() << ": " << einsum::to_string(equation) << " as " << einsum::to_string(renamed));
    const std::vector<Dims> shapes = shapes_of(row.text("shapes"));
    const Contraction a = einsum::contract(einsum::bind(equation, shapes));
    const Contraction b = einsum::contract(einsum::bind(renamed, shapes));
    CHECK(a.best.flops == b.best.flops);
    CHECK(a.best.elementwise == b.best.elementwise);
    CHECK(a.left_to_right.flops == b.left_to_right.flops);
    // The search never does worse than the order written.
    CHECK(a.best.flops + a.best.elementwise <= a.left_to_right.flops + a.left_to_right.elementwise);
    CHECK(parse_equation(einsum::to_string(equation)) == equation);
  }
}

TEST_CASE("errors of einsum and matmul name the axis and both lengths") {
  CHECK_THAT(refusal("ij,jk->ik", "(3,4) (5,6)"),
             ContainsSubstring("axis j has length 4 (axis 1 of operand 1) and length 5 (axis 0 of operand 2)"));
  CHECK_THAT(refusal("ii->i", "(3,4)"), ContainsSubstring("with length 3 and with length 4"));
  CHECK_THAT(refusal("ij,jk->iz", "(3,4) (4,5)"), ContainsSubstring("axis z"));
  CHECK_THAT(refusal("ij->ii", "(3,4)"), ContainsSubstring("twice in the output"));
  CHECK_THAT(refusal("ijk->ij", "(3,4)"), ContainsSubstring("has 2 axes, but 'ijk' names 3"));
  CHECK_THAT(refusal("ij,jk->ik", "(3,4)"), ContainsSubstring("2 operands, but 1 shape"));
  CHECK_THAT(refusal("i1->i", "(3,4)"), ContainsSubstring("'1' is no letter"));
  CHECK_THAT(refusal("...i...->i", "(3,4)"), ContainsSubstring("two ellipses"));
  CHECK_THAT(matmul_refusal({3, 4}, {5, 6}),
             ContainsSubstring("axis 1 of (3, 4) has length 4, axis 0 of (5, 6) has length 5"));
  CHECK_THAT(matmul_refusal({3, 4}, {5, 4}), ContainsSubstring("transposed"));
  CHECK_THAT(matmul_refusal({2, 3, 4}, {3, 4, 5}), ContainsSubstring("axis 0 of (2, 3, 4) has length 2"));
  CHECK_THAT(matmul_refusal({}, {4}), ContainsSubstring("scalar"));
}

TEST_CASE("a linear layer stores its weight as (out, in)") {
  const einsum::Linear layer = einsum::linear(4, 5, {2, 3, 4});
  CHECK(layer.weight_stored == Dims({5, 4}));
  const Problem p = einsum::bind(layer.product.equation, layer.product.shapes);
  CHECK(p.shape == Dims({2, 3, 5}));
  CHECK(einsum::contract(p).best.flops == Flops(2 * (2 * 3) * 4 * 5));
  CHECK_THROWS_AS(einsum::linear(4, 5, {2, 3, 6}), Error);
  CHECK_THROWS_AS(einsum::linear(0, 5, {0}), Error);
}
