// Counts are exact or an error, and units do not mix.
#include "core/units.hpp"

#include <limits>
#include <type_traits>

#include "core/dtype.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;

namespace {

template <class A, class B>
concept can_add = requires(A a, B b) { a + b; };
template <class A, class B>
concept can_compare = requires(A a, B b) { a < b; };

}  // namespace

TEST_CASE("adding different units does not compile") {
  STATIC_REQUIRE(can_add<Bytes, Bytes>);
  STATIC_REQUIRE_FALSE(can_add<Bytes, Flops>);
  STATIC_REQUIRE_FALSE(can_add<Bytes, Count>);
  STATIC_REQUIRE_FALSE(can_add<Seconds, FlopsPerSecond>);
  STATIC_REQUIRE_FALSE(can_compare<Bytes, Flops>);
  STATIC_REQUIRE(std::is_same_v<decltype(Flops(1) / FlopsPerSecond(1)), Seconds>);
  STATIC_REQUIRE(std::is_same_v<decltype(Bytes(1) / BytesPerSecond(1)), Seconds>);
  STATIC_REQUIRE(std::is_same_v<decltype(Flops(1) / Bytes(1)), FlopsPerByte>);
}

TEST_CASE("an overflow is an error, never a wrong number") {
  const Count largest = std::numeric_limits<Count>::max();
  CHECK_THROWS_AS(Bytes(largest) + Bytes(1), Overflow);
  CHECK_THROWS_AS(Bytes(largest) * 2, Overflow);
  CHECK_THROWS_AS(Bytes(std::numeric_limits<Count>::min()) - Bytes(1), Overflow);
  CHECK_THROWS_AS(checked::multiply<Count>(largest, 2), Overflow);
  CHECK((Bytes(largest) - Bytes(1)).value() == largest - 1);
}

TEST_CASE("FLOPs go past 2^64 with every digit") {
  // 6 * 10^9 parameters * 10^10 tokens.
  const Flops training = Flops(6) * 1'000'000'000 * 10'000'000'000;
  CHECK(to_string(training) == "60000000000000000000");
  CHECK(to_string(training * 1'000'000) == "60000000000000000000000000");
  CHECK(to_string(Flops(-12)) == "-12");
  CHECK(to_string(Flops(0)) == "0");
  CHECK_THROWS_AS(Flops(Int128{1} << 126) * 4, Overflow);
}

TEST_CASE("ceil_div rounds up only where something is left") {
  CHECK(ceil_div(0, 4) == 0);
  CHECK(ceil_div(8, 4) == 2);
  CHECK(ceil_div(9, 4) == 3);
}

TEST_CASE("bytes of a tensor, by hand") {
  // (8, 1024, 4096) in bf16: 2^3 * 2^10 * 2^12 elements of 2 B = 2^26 B = 64 MiB.
  CHECK((size_of(DType::bfloat16) * (Count{8} * 1024 * 4096)).value() == 67'108'864);
  CHECK((size_of(DType::float32) * 100'000'000).value() == 400'000'000);
  CHECK((size_of(DType::bfloat16) * 100'000'000).value() == 200'000'000);
}

TEST_CASE("promotion as torch.promote_types has it") {
  CHECK(promote(DType::bfloat16, DType::float32) == DType::float32);
  CHECK(promote(DType::bfloat16, DType::float16) == DType::float32);
  CHECK(promote(DType::int64, DType::float16) == DType::float16);
  CHECK(promote(DType::boolean, DType::int64) == DType::int64);
  CHECK(promote(DType::float16, DType::float16) == DType::float16);
}
