// The arithmetic of layouts. Expectations: PyTorch 2.15, by hand where the comment says so.
#include "core/layout.hpp"

#include <stdexcept>

#include "tests/catch.hpp"

using namespace llmcalc;

namespace {

Layout contiguous(const Dims& shape) { return Layout::contiguous(shape); }

Dims elementwise(const Dims& shape, const std::vector<Layout>& operands) {
  Few<const Layout*, 4> pointers;
  for (const Layout& x : operands) pointers.push_back(&x);
  return elementwise_strides(shape, pointers);
}

}  // namespace

TEST_CASE("row-major strides") {
  CHECK(contiguous_strides({2, 3, 4}) == Dims({12, 4, 1}));
  CHECK(contiguous_strides({}) == Dims());
  CHECK(contiguous_strides({2, 0, 4}) == Dims({4, 4, 1}));  // a length of 0 counts as 1
  CHECK_THROWS_AS(contiguous_strides({2, Count{1} << 62, 4}), Overflow);
}

TEST_CASE("contiguous and dense") {
  CHECK(contiguous({2, 3}).is_contiguous());
  CHECK_FALSE(transpose(contiguous({2, 3}), 0, 1).is_contiguous());
  CHECK(transpose(contiguous({1, 3}), 0, 1).is_contiguous());  // an axis of length 1 has any stride
  CHECK(transpose(contiguous({2, 3}), 0, 1).is_dense());
  CHECK_FALSE(slice(contiguous({4, 6}), 1, 0, 3).is_dense());
  CHECK_FALSE(expand(contiguous({1, 3}), {4, 3}).is_dense());
  const Layout empty{{0, Count{1} << 40, Count{1} << 40}, {0, 0, 0}, 0};
  CHECK(empty.is_contiguous());
  CHECK(empty.is_dense());
  CHECK(empty.span() == 0);
  CHECK(slice(contiguous({8, 10}), 1, 0, 4, 3).span() == 7 * 10 + 3 * 3 + 1);
}

TEST_CASE("slices and selections move the offset and check it") {
  const Layout x = contiguous({8, 10});
  CHECK(slice(x, 1, 2, 4).offset == 2);
  CHECK(slice(x, 0, 2, 2, 3).stride == Dims({30, 1}));
  CHECK(select(x, 0, 3).offset == 30);
  CHECK(select(x, 0, 3).shape == Dims({10}));
  CHECK_THROWS_AS(slice(x, 0, 0, 1, Count{1} << 62), Overflow);
  CHECK_THROWS_AS(select(Layout{{2}, {Count{1} << 62}, Count{1} << 62}, 0, 1), Overflow);
}

TEST_CASE("expand gives stride 0, and leading axes of length 1 the stride they would have") {
  CHECK(expand(contiguous({1, 10}), {8, 10}).stride == Dims({0, 1}));
  CHECK(expand(contiguous({3}), {1, 1, 3}).stride == Dims({3, 3, 1}));
  CHECK(expand(contiguous({}), {1, 3, 1}).stride == Dims({0, 0, 0}));
  CHECK_THROWS_AS(expand(contiguous({2}), {3}), std::invalid_argument);
}

TEST_CASE("a view exists where groups of axes follow on from one another") {
  const Layout x = contiguous({2, 3, 4});
  CHECK(view(x, {6, 4})->stride == Dims({4, 1}));
  CHECK(view(transpose(x, 0, 1), {6, 4}) == std::nullopt);
  CHECK(view(transpose(x, 1, 2), {2, 2, 2, 3})->stride == Dims({12, 2, 1, 4}));
  CHECK(view(slice(contiguous({4, 6}), 1, 0, 3), {2, 2, 3})->stride == Dims({12, 6, 1}));
  CHECK(view(slice(contiguous({4, 6}), 1, 0, 3), {12}) == std::nullopt);
  CHECK(view(expand(contiguous({1, 3}), {4, 3}), {2, 2, 3})->stride == Dims({0, 0, 1}));
  CHECK(view(contiguous({}), {1, 1})->stride == Dims({1, 1}));
  CHECK(view(contiguous({0, 3}), {3, 0})->stride == Dims({1, 1}));
  CHECK(view(x, {5}) == std::nullopt);
}

TEST_CASE("element-wise results follow the order of the operands' axes") {
  const Layout turned = transpose(contiguous({4, 3}), 0, 1);  // (3, 4), strides (1, 3)
  CHECK(elementwise({3, 4}, {turned}) == Dims({1, 3}));
  CHECK(elementwise({3, 4}, {turned, contiguous({3, 4})}) == Dims({1, 3}));  // the first operand decides
  CHECK(elementwise({3, 4}, {contiguous({3, 4}), turned}) == Dims({4, 1}));
  CHECK(elementwise({3, 4}, {contiguous({3, 1}), contiguous({1, 4})}) == Dims({4, 1}));
  CHECK(elementwise({4, 3, 5}, {permute(contiguous({5, 4, 3}), {1, 2, 0}), contiguous({4, 3, 1})}) == Dims({3, 1, 12}));
}

TEST_CASE("conversions keep a dense layout and the order of axes of others") {
  CHECK(strides_like(transpose(contiguous({4, 3}), 0, 1)) == Dims({1, 3}));
  CHECK(strides_like(expand(contiguous({3, 1}), {3, 4})) == Dims({4, 1}));
  CHECK(strides_like(transpose(slice(contiguous({8, 10}), 1, 0, 4, 3), 0, 1)) == Dims({1, 4}));
  CHECK(strides_like(transpose(contiguous({5, 0}), 0, 1)) == Dims({1, 1}));
}

TEST_CASE("at most eight axes") {
  Dims dims{1, 2, 3, 4, 5, 6, 7, 8};
  CHECK_THROWS_AS(dims.push_back(9), std::length_error);
  CHECK_THROWS_AS(dims.insert(0, 9), std::length_error);
  dims.erase(0);
  CHECK(dims == Dims({2, 3, 4, 5, 6, 7, 8}));
  dims.insert(1, 9);
  CHECK(dims == Dims({2, 9, 3, 4, 5, 6, 7, 8}));
}

TEST_CASE("broadcast names the axis and both lengths") {
  CHECK(broadcast({2, 1, 4}, {3, 1}) == Dims({2, 3, 4}));
  CHECK_THROWS_WITH(broadcast({2, 3}, {2, 4}), "axis 1 has length 3 in one operand and 4 in the other");
}
