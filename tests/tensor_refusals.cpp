// Each reason for which a chain of tensor operations is refused, with the words that name it. PyTorch refuses these
// too, unless a row says otherwise.
#include "core/diagnostics.hpp"
#include "core/tensor_expression/evaluate.hpp"
#include "tests/catch.hpp"
#include "tests/support/refusal.hpp"

using namespace llmcalc;
using Catch::Matchers::ContainsSubstring;

namespace {

std::string refusal(const std::string& shape, const std::string& chain) {
  return test::refusal(
      [&] { expression::evaluate(expression::parse_shape(shape), DType::float32, expression::parse(chain)); });
}

struct Row {
  const char* shape;
  std::string chain;
  const char* why;
};

void check(const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    INFO(row.shape << " " << row.chain);
    CHECK_THAT(refusal(row.shape, row.chain), ContainsSubstring(row.why));
  }
}

}  // namespace

TEST_CASE("refusals of axes that do not exist, or twice") {
  check({
      {"2,3", "x.permute(0)", "it names 1 axes, but a tensor of shape (2, 3) has 2"},
      {"2,3", "x.permute(0, -2)", "axis 0 is named twice"},
      {"2,3", "x.permute(0, 2)", "axis 2 is out of range"},
      {"2,3,4", "x.t()", "it takes at most 2 axes"},
      {"3", "x.mT", "it takes matrices"},
      {"2,3,4", "x.H", "it takes a matrix, not a tensor of shape (2, 3, 4)"},
      {"2,3,4", "x.movedim((0, 1), 2)", "2 axes to move, but 1 places to move them to"},
      {"2,3,4", "x.movedim((0, 0), (1, 2))", "axis 0 is moved twice"},
      {"2,3,4", "x.movedim((0, 1), (2, -1))", "two axes are moved to place 2"},
      {"()", "x.movedim(0, 1)", "axis 1 is out of range"},
      {"1,3", "x.squeeze((0, 0))", "axis 0 is named twice"},
      {"1,3", "x.squeeze(2)", "axis 2 is out of range"},
      {"2,3", "x.unsqueeze(3)", "axis 3 is out of range"},
      {"2,3", "x.flip(0, 0)", "axis 0 is named twice"},
      {"()", "x.select(0, 0)", "a scalar has no axis"},
      {"()", "x.repeat_interleave(2, 0)", "a scalar has no axis"},
      {"2,3", "x.view_as_real()", "this is not a complex tensor"},
      {"2,3", "x.diagonal(0, 1, 1)", "the two axes of a diagonal have to differ"},
      {"2", "x.diagonal()", "has no diagonal"},
      // Eight axes are this program's own limit.
      {"1,1,1,1,1,1,1,1", "x.unsqueeze(0)", "a tensor has at most 8 axes here"},
      {"1,1,1,1,1,1,1,1", "x.unfold(0, 1, 1)", "a tensor has at most 8 axes here"},
      {"1,1", "x.expand(1, 1, 1, 1, 1, 1, 1, 1, 1)", "more than 8 axes"},
  });
}

TEST_CASE("refusals of lengths and places") {
  check({
      {"2,6", "x.view(-1, -1)", "only one length can be -1"},
      {"2,6", "x.view(-2, 6)", "a length cannot be -2"},
      {"0,3", "x.view(-1, 0)", "-1 can be any length beside a 0"},
      {"2,3", "x.view(-1, 0)", "6 elements of the tensor of shape (2, 3) cannot become"},
      {"2,3", "x.view()", "needs a shape or a number format"},
      {"2,3", "x.reshape()", "needs a shape"},
      {"()", "x.view(torch.int8)", "a scalar has no axis whose length could change"},
      {"2,3", "x.view(torch.float64)", "the length of the last axis has to divide by 2"},
      {"3,2", "x.t().view(torch.int8)", "the last axis has to have stride 1"},
      {"2,3", "x.flatten(1, 0)", "start_dim 1 comes after end_dim 0"},
      {"2,6", "x.unflatten(1, 3)", "sizes has to be a list"},
      {"2,6", "x.unflatten(1, ())", "sizes is empty"},
      {"2,6", "x.unflatten(1, (4, -1))", "do not divide"},
      {"()", "x.unflatten(0, (1, 1))", "a scalar has no axis to split"},
      {"3", "x.expand(-1, 3)", "-1 keeps a length, and the new axis 0 has none yet"},
      {"3", "x.expand(-2, 3)", "a length cannot be -2"},
      {"2,3", "x.expand(3)", "1 lengths are too few for a tensor of 2 axes"},
      {"4", "x.as_strided((2, 2), (1,))", "2 lengths, but 1 strides"},
      {"4", "x.as_strided((-2,), (1,))", "a length cannot be -2"},
      {"4", "x.as_strided((2,), (-1,))", "negative strides are not supported"},
      {"4", "x.as_strided((2,), (1,), -1)", "the offset cannot be negative"},
      {"4", "x.as_strided((2,), (4,))", "it reaches 20 bytes far into a storage of 16"},
      {"2,3", "x.repeat(2)", "1 numbers are too few for a tensor of 2 axes"},
      {"2,3", "x.repeat(2, -1)", "an axis cannot be repeated -1 times"},
      {"2,3", "x.repeat_interleave(-1)", "elements cannot be repeated -1 times"},
      {"4", "x.select(0, 4)", "index 4 is out of range for axis 0 of length 4"},
      {"4", "x.select(0, -5)", "index -5 is out of range"},
      {"4", "x.narrow(0, 5, 0)", "start 5 is out of range"},
      {"4", "x.narrow(0, 2, 3)", "start 2 and length 3 go past axis 0 of length 4"},
      {"4", "x.narrow(0, 0, -1)", "a length cannot be negative"},
      {"4", "x.chunk(0)", "there has to be at least 1 chunk"},
      {"4", "x.split(0)", "pieces of length 0 never make up axis 0 of length 4"},
      {"4", "x.split(-1)", "a length cannot be negative"},
      {"4", "x.split((1, 2))", "the lengths add up to 3, not to 4"},
      {"4", "x.split((5, -1))", "a length cannot be negative"},
      {"0", "x.split(())", "there are no lengths"},  // PyTorch takes this one
      {"4", "x.tensor_split(0)", "there has to be at least 1 part"},
      {"4", "x.tensor_split(10001)", "more than 10,000 parts"},                // PyTorch takes this one
      {"4", "x.tensor_split((3, 1))", "the places to split at have to rise"},  // and this: an empty part
      {"4", "x.unfold(0, 5, 1)", "windows of 5 are longer than axis 0 of length 4"},
      {"4", "x.unfold(0, -1, 1)", "a size cannot be negative"},
      {"4", "x.unfold(0, 2, 0)", "the step has to be at least 1"},
      {"4", "x.chunk(2)[2]", "gives 2 tensors only"},
  });
}

TEST_CASE("refusals of what has too many elements to be counted") {
  constexpr const char* half = "2305843009213693952";  // 2^61
  check({
      {half, "x.repeat(3)", "the result has more than 2^62 elements"},
      {half, "x.repeat(2, 2)", "64 bits"},
      {half, "x.tile(2, 2)", "64 bits"},
      {half, "x.repeat_interleave(3, 0)", "the result has more than 2^62 elements"},
      {half, "x.repeat_interleave(3)", "the result has more than 2^62 elements"},
      {half, "x.expand(4, -1)", "2^62 elements"},
  });
}

TEST_CASE("refusals of an index") {
  check({
      {"4", "x[]", "expected an index"},
      {"4", "x[4]", "index 4 is out of range"},
      {"4", "x[-5]", "index -5 is out of range"},
      {"4", "x[::0]", "the step 0 is not positive"},
      {"4", "x[[0, 4]]", "index 4 is out of range"},
      {"4,4", "x[[0], [1]]", "only one list in an index is handled here"},  // PyTorch takes this one
      {"4", "x[[True]]", "expected whole numbers in the list"},
      {"4", "x[[0 1]]", "expected a comma or the closing bracket of the list"},
      {"4", "x[0 1]", "expected a comma or the closing bracket of the index"},
      {"4", "x[y]", "'y' is none"},
      {"4", "x[,]", "expected a number, start:stop:step"},
      // A second ellipsis skips as many axes once more, in PyTorch too.
      {"4,4", "x[..., ..., 0]", "there are more indices than axes"},
      {"4", "x[..., ..., None]", "there is no place for a new axis"},
      {"1,1,1,1,1,1,1,1", "x[None]", "a tensor has at most 8 axes here"},
      {"6", "x.split(2)[3]", "gives 3 tensors only"},
      {"6", "x.split(2)[-4]", "gives 3 tensors only"},
  });
}

TEST_CASE("refusals of a call") {
  check({
      {"4", "x.to()", "needs a number format, as in to(torch.bfloat16)"},  // PyTorch takes this one, and does nothing
      {"4", "x.type(4)", "needs a number format, as in type(torch.bfloat16)"},
      {"4", "x.to(torch.bfloat17)", "torch.bfloat17 is no number format"},
      {"2,3", "x.transpose(0, 1, dim0=0)", "'dim0' is given twice"},
      {"2,3", "x.permute(0, 1, dims=(1, 0))", "'dims' is given twice"},
      {"2,3", "x.transpose((0, 1), 1)", "dim0 has to be a whole number"},
      {"2,3", "x.permute((0, None))", "dims has to be whole numbers"},
      {"2,3", "x.permute(True)", "dims has to be whole numbers"},
      {"2,3", "x.t(1)", "it takes none"},
      {"2,3", "x.t(a=1)", "there is no parameter 'a'\nhint: it takes no arguments"},
      {"2,3", "x.transpose(dim0=0, dim2=1)", "there is no parameter 'dim2'\nhint: it takes dim0 and dim1"},
      {"2,3", "x.transpose(0)", "needs dim1\nhint: it takes dim0 and dim1"},
      {"2,3", "x.transpose(None, 1)", "dim0 has to be a whole number"},
      {"2,3", "x.select((True,), 0)", "dim has to be a whole number"},
      {"2,3", "x.select((0, 1), 0)", "dim has to be a whole number"},
      {"2,3", "x.permute((0, 1), 0)", "'dims' is given twice"},
      {"2,3", "x.to(True)", "devices are not"},
      {"2,3", "x.to(cuda)", "devices are not\nhint: `llmcalc dtype` lists the formats"},
      {"2,3", "x.to(torch.bfloat16, 4)", "devices are not"},
      {"2,3", "torch.t(dim=x)", "a function of torch takes x first"},
      {"2,3", "torch.t(5)", "a function of torch takes x first"},
      {"2,3", "x.view(99999999999999999999)", "64 bits"},
      {"2,3", "x.view('" + std::string(300, 'a') + "', 1)", "aaa..."},
      {"2,3", "x.view(2 3)", "expected a comma or the closing bracket"},
      {"2,3", "x.view((2 3))", "expected a comma or the closing bracket"},
      {"2,3", "x.view(2.0, 3)", "expected a whole number"},
      {"2,3", "x.view(>)", "expected a number, a list of numbers"},
      {"2,3", "x.to('bfloat16)", "the quotes are not closed"},
      {"2,3", "x.to(\"a'b\")", "quotes inside quotes"},
      {"2,3", "x.view(((((((((((2)))))))))))", "lists are nested too deeply"},
      {"2,3", "x.", "expected the name of an operation"},
      {"2,3", "x t", "expected .operation(...) or [index]"},
      {"2,3", "(x)", "expected x or an operation"},  // Python takes this one
      {"2,3", "torch.t(y)", "a function of torch takes x first"},
      {"2,3", "torch.t()", "a function of torch takes x first"},
      {"2,3", "x.zzzzzzzz()", "unknown tensor operation 'zzzzzzzz'"},
  });
  std::string many = "x";
  for (int i = 0; i < 201; ++i) many += ".t()";
  CHECK_THAT(refusal("2,3", many), ContainsSubstring("at most 200 operations; this one has 201"));
  CHECK_THAT(refusal("2,3", "x" + std::string(10'000, ' ')), ContainsSubstring("at most 10,000 characters"));
}

TEST_CASE("refusals of a shape") {
  check({
      {"(2,3", "x", "the bracket is not closed"},
      {"[2,3)", "x", "the bracket is not closed"},
      {"(", "x", "the bracket is not closed"},
      {"", "x", "the shape is empty"},
      {"  ", "x", "the shape is empty"},
      {"2,-3", "x", "shape '2,-3'"},
      {"2,a", "x", "shape '2,a'"},
      {"2,,3", "x", "shape '2,,3'"},
      {"2,3,,", "x", "shape '2,3,,'"},
      {"1,1,1,1,1,1,1,1,1", "x", "has more than 8 axes, the most that are handled here"},
      {"4611686018427387904,2", "x", "has more than 2^62 elements"},
      {"4611686018427387904,4611686018427387904", "x", "has more than 2^62 elements"},
  });
}
