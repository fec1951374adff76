// Chains of tensor operations against PyTorch, and what must hold for any chain.
#include "core/tensor_expression/evaluate.hpp"

#include "core/diagnostics.hpp"
#include "tests/catch.hpp"
#include "tests/support/random.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/table.hpp"

using Catch::Matchers::ContainsSubstring;
using namespace llmcalc;
using expression::Chain;
using expression::evaluate;
using expression::parse;
using expression::parse_shape;
using expression::TensorHistory;
using expression::TensorStep;
using llmcalc::test::Random;

namespace {

TensorHistory history(const std::string& shape, const std::string& chain, DType dtype = DType::float32) {
  return evaluate(parse_shape(shape), dtype, parse(chain));
}

std::string refusal(const std::string& shape, const std::string& chain, DType dtype = DType::float32) {
  return test::refusal([&] { history(shape, chain, dtype); });
}

// A chain of views that fits `shape`, for the properties.
std::string random_views(Random& random, int rank) {
  std::string chain = "x";
  for (int n = random.below(5) + 1; n > 0; --n) {
    const std::string axis = std::to_string(rank == 0 ? 0 : random.below(rank));
    switch (random.below(8)) {
      case 0: chain += ".transpose(0, " + axis + ")"; break;
      case 1:
        chain += ".unsqueeze(" + axis + ")";
        ++rank;
        break;
      case 2: chain += "[::2]"; break;
      case 3: chain += "[1:]"; break;
      case 4: chain += ".narrow(" + axis + ", 0, 1)"; break;
      case 5: chain += ".T"; break;
      case 6: chain += ".detach()"; break;
      default: chain += ".movedim(" + axis + ", 0)"; break;
    }
  }
  return chain;
}

}  // namespace

TEST_CASE("chains give what PyTorch gives") {
  const auto compare = [](const test::Row& row, test::Comparison& comparison) {
    const DType dtype = *dtype_named(row.text("dtype"));
    if (refusal(row.text("shape"), row.text("chain"), dtype) != "accepted")
      return comparison.equal("result", std::string("error"));
    const TensorHistory found = history(row.text("shape"), row.text("chain"), dtype);
    const TensorStep& last = found.steps.back();
    comparison.equal("result", test::in_brackets(last.layout.shape));
    comparison.equal("stride", test::in_brackets(last.layout.stride));
    comparison.equal("offset", last.layout.offset);
    comparison.equal("result_dtype", std::string(name_of(last.dtype)));
    comparison.equal("contiguous", last.layout.is_contiguous());
    comparison.equal("shares", last.shares_storage());
    comparison.equal("bytes", last.bytes());
    comparison.equal("storage_bytes", found.storage_bytes[last.storage]);
  };
  test::check_table({"tensor_views.tsv", {"shape", "dtype", "chain"}, compare, 500});
}

TEST_CASE("what is printed is read again as the same chain") {
  for (const test::Row& row : test::rows("tensor_views.tsv")) {
    const Chain chain = parse(row.text("chain"));
    INFO(row.where() << ": " << expression::to_string(chain));
    CHECK(parse(expression::to_string(chain)) == chain);
  }
  const Chain chain = parse("torch.transpose(x, 0,dim1 = -1)[ ..., None,1 : ,::2, [0,-1]].to('bf16', copy=True).T");
  CHECK(expression::to_string(chain) ==
        "x.transpose(0, dim1=-1)[..., None, 1:, ::2, [0, -1]].to(torch.bfloat16, copy=True).T");
  CHECK(parse(expression::to_string(chain)) == chain);
}

TEST_CASE("chains that differ in one place are not the same") {
  const char* const all[] = {"x.view(2, 3)",
                             "x.view(2, 4)",
                             "x.view(3, 2)",
                             "x.view(2)",
                             "x.reshape(2, 3)",
                             "x[0]",
                             "x[1]",
                             "x[0:1]",
                             "x[0:2]",
                             "x[0:2:2]",
                             "x.sum(0)",
                             "x.sum(0).sum(0)",
                             "x.to(torch.bf16)",
                             "x.to(torch.fp16)",
                             "x[..., 0]",
                             "x[:, 0]",
                             "x[None]"};
  for (const char* a : all)
    for (const char* b : all) {
      INFO(a << " and " << b);
      CHECK((parse(a) == parse(b)) == (std::string(a) == b));
    }
}

TEST_CASE("an expression can begin in several ways") {
  const Chain wanted = parse("x.t()");
  for (const char* text : {".t()", "t()", "  x . t ( ) ", "torch.t(x)"}) CHECK(parse(text) == wanted);
  CHECK(parse("x").empty());
  CHECK(parse("[0]") == parse("x[0]"));
}

TEST_CASE("views never change the storage, and copies have their own") {
  Random random(11);
  for (int i = 0; i < 500; ++i) {
    const std::string chain = random_views(random, 3);
    INFO(chain);
    TensorHistory found;
    try {
      found = history("4,3,5", chain, DType::bfloat16);
    } catch (const Error&) {
      continue;  // nine axes, or a slice of what has become a scalar
    }
    CHECK(found.storage_bytes.size() == 1);
    CHECK(found.distinct_storage_bytes() == 4 * 3 * 5 * 2);
    for (const TensorStep& step : found.steps) CHECK(step.layout.offset + step.layout.span() <= 4 * 3 * 5);
    const TensorHistory copied = history("4,3,5", chain + ".clone()", DType::bfloat16);
    CHECK(copied.storage_bytes.size() == 2);
    CHECK(copied.distinct_storage_bytes() == found.distinct_storage_bytes() + copied.steps.back().bytes());
  }
}

TEST_CASE("a chain that ends in several tensors lists them") {
  const TensorHistory found = history("4,12", "x.chunk(3, -1)");
  REQUIRE(found.steps.size() == 4);
  CHECK(found.steps[2].op == "chunk(3, -1)[1]");
  CHECK(found.steps[2].layout.offset == 4);
  CHECK(found.storage_bytes.size() == 1);
  CHECK_THAT(refusal("1000000", "x.split(1)"), ContainsSubstring("1,000,000 tensors, too many to list"));
  CHECK(history("1000000", "x.split(1)[999999]").steps.back().layout.offset == 999999);
  CHECK_THAT(refusal("4,12", "x.chunk(3, -1).t()"), ContainsSubstring("take one of them first"));
}

TEST_CASE("a view that cannot be says why and what works") {
  const std::string why = refusal("2,3,4", "x.transpose(0, 1).view(6, 4)");
  CHECK_THAT(why, ContainsSubstring("axis 0 (stride 4) and axis 1 (stride 12)"));
  CHECK_THAT(why, ContainsSubstring("axis 0 would need stride 24"));              // axis 1: length 2, stride 12
  CHECK_THAT(why, ContainsSubstring("reshape(6, 4) works: it copies 96 bytes"));  // 24 elements of 4 bytes
  CHECK_THAT(refusal("2,6", "x.view(3, 5)"), ContainsSubstring("has 12 elements, (3, 5) has 15"));
  CHECK_THAT(refusal("2,6", "x.view(-1, 5)"), ContainsSubstring("do not divide"));
}

TEST_CASE("refusals name what is wrong") {
  CHECK_THAT(refusal("8", "x[::-1]"), ContainsSubstring("negative strides"));
  CHECK_THAT(refusal("8", "x[x > 0]"), ContainsSubstring("depends on values"));
  CHECK_THAT(refusal("8", "x.nonzero()"), ContainsSubstring("depends on values"));
  CHECK_THAT(refusal("8", "x + 1"), ContainsSubstring("at character 3"));
  CHECK_THAT(refusal("2,3", "x.transpoze(0, 1)"), ContainsSubstring("did you mean transpose"));
  CHECK_THAT(refusal("2,3", "x.transpose(0, 5)"), ContainsSubstring("axes -2 to 1"));
  CHECK_THAT(refusal("2,3", "x.transpose(0)"), ContainsSubstring("needs dim1"));
  CHECK_THAT(refusal("2,3", "x.transpose(0, 1, 2)"), ContainsSubstring("too many arguments"));
  CHECK_THAT(refusal("2,3", "x.transpose(0, axis=1)"), ContainsSubstring("no parameter 'axis'"));
  CHECK_THAT(refusal("2,3", "x.t"), ContainsSubstring("with brackets"));
  CHECK_THAT(refusal("2,3", "x.T()"), ContainsSubstring("without brackets"));
  CHECK_THAT(refusal("2,3", "x.to('cuda')"), ContainsSubstring("devices are not"));
  CHECK_THAT(refusal("2,3", "x.expand(4, 3)"), ContainsSubstring("axis 0 of (2, 3) has length 2"));
  CHECK_THAT(refusal("2,3", "x.view(2"), ContainsSubstring("at its end"));
  CHECK_THAT(refusal("2,3", "x[0, 0, 0]"), ContainsSubstring("too many for a tensor of 2 axes"));
}

TEST_CASE("sizes up to 2^62 elements and 8 axes are exact, beyond is refused") {
  const TensorHistory huge = history("4611686018427387904", "x[::2].view(torch.int32)", DType::float32);
  CHECK(to_string(huge.distinct_storage_bytes()) == "18446744073709551616");  // 2^62 elements of 4 bytes = 2^64
  CHECK(huge.steps.back().elements() == Count{1} << 61);
  CHECK(history("1,1", "x.expand(4611686018427387904, -1)").steps.back().layout.stride == Dims({0, 1}));
  CHECK_THAT(refusal("4611686018427387905", "x"), ContainsSubstring("2^62"));
  CHECK_THAT(refusal("2147483648,2147483648,2", "x"), ContainsSubstring("2^62"));
  CHECK_THAT(refusal("4", "x.expand(4611686018427387904, 4)"), ContainsSubstring("2^62"));
  CHECK_THAT(refusal("4,4", "x[::4611686018427387904]"), ContainsSubstring("64 bits"));
  CHECK_THAT(refusal("4", "x.repeat(4611686018427387904)"), ContainsSubstring("64 bits"));
  CHECK(history("1,2,1,2,1,2,1,2", "x.T").steps.back().layout.shape.rank() == 8);
  CHECK_THAT(refusal("1,1,1,1,1,1,1,1,1", "x"), ContainsSubstring("8 axes"));
  CHECK_THAT(refusal("1,1,1,1,1,1,1,1", "x[None]"), ContainsSubstring("8 axes"));
  CHECK_THAT(refusal("1", "x.view(99999999999999999999)"), ContainsSubstring("64 bits"));
}

TEST_CASE("shapes in every spelling") {
  for (const char* text : {"2,3,4", "(2,3,4)", "[2, 3, 4]", " 2 , 3,4 ", "(2,3,4,)"})
    CHECK(parse_shape(text) == Dims({2, 3, 4}));
  CHECK(parse_shape("()").rank() == 0);
  CHECK(parse_shape("(4,)") == Dims({4}));
  CHECK(parse_shape("1_024,1k") == Dims({1024, 1000}));
  for (const char* text : {"", "(2,3", "2,,3", "2,-3", "2.5", "a", ",", "(", "2 3"})
    CHECK_THROWS_AS(parse_shape(text), Error);
}
