// tensor, matmul, einsum, rearrange, reduce, repeat and dtype through the program.
#include "tests/catch.hpp"
#include "tests/support/json_runs.hpp"
#include "tests/support/runs.hpp"

using Catch::Matchers::ContainsSubstring;
using llmcalc::test::holds;
using llmcalc::test::output_of;
using llmcalc::test::Ran;
using llmcalc::test::refused;
using llmcalc::test::run_program;
using llmcalc::test::Words;
using nlohmann::json;

TEST_CASE("their JSON is what the schemas say") {
  holds("tensor", {"tensor", "2,16,8", "--dtype", "bf16", "x.view(2,16,2,4).transpose(1,2)[:, ::2].contiguous()"});
  holds("tensor", {"tensor", "()"});
  holds("tensor", {"tensor", "4,12", "x.chunk(3, -1)"});
  holds("einsum", {"matmul", "3,4", "4,5"});
  holds("einsum", {"matmul", "--linear", "4", "5", "(2,3,4)", "--device", "h100-sxm"});
  holds("einsum", {"einsum", "i,ij,j->", "8", "8,16", "16"});
  holds("einsum", {"einsum", "ij->ji", "3,4"});
  holds("einsum", {"matmul", "1048576,1048576,1048576", "1048576,1048576"});  // FLOPs past 2^64
  holds("einsum", {"rearrange", "b s (h d) -> b h s d", "2,16,32", "h=4"});
  holds("einsum", {"reduce", "--op", "mean", "b s d -> b d", "2,16,8"});
  holds("einsum", {"repeat", "b h s d -> b (h r) s d", "2,2,16,4", "r=4"});
  holds("dtype", {"dtype"});
  holds("dtype", {"dtype", "--value", "70000"});
  holds("dtype", {"dtype", "--value", "-inf"});
  holds("dtype", {"dtype", "--value", "1e-320"});
}

TEST_CASE("several operations can be several arguments") {
  const json one = output_of({"tensor", "2,3,4", "x.transpose(0,1).reshape(6,4)"});
  CHECK(output_of({"tensor", "2,3,4", "x.transpose(0,1)", ".reshape(6,4)"}) == one);
  CHECK(output_of({"tensor", "(2, 3, 4)", "transpose(0,1)", "reshape(6,4)"}) == one);
  CHECK(one["steps"].size() == 3);
  CHECK(one["distinct_storage_bytes"] == 2 * 24 * 4);
}

TEST_CASE("which side of the ridge") {
  // H100: 989.4 TFLOP/s / 3.35 TB/s = 295.3 FLOP/B. A square product of n has n / 3 FLOP/B in 16 bits.
  const json large = output_of({"matmul", "4096,4096", "4096,4096", "--device", "h100-sxm"});
  CHECK(large["bound"] == "compute");
  CHECK(large["ridge"].get<double>() == Approx(295.3).epsilon(1e-3));
  CHECK(large["intensity"].get<double>() == Approx(4096.0 / 3));
  CHECK(output_of({"matmul", "512,512", "512,512", "--device", "h100-sxm"})["bound"] == "memory");
  CHECK_THAT(refused({"matmul", "3,4", "4,5", "--device", "h100-sxm", "--dtype", "int64"}, 3),
             ContainsSubstring("no peak for int64"));
  CHECK_THAT(refused({"matmul", "3,4", "4,5", "--device", "h900"}, 3), ContainsSubstring("h900"));
}

TEST_CASE("explained numbers show the formula, the numbers and the result") {
  const std::string product = run_program({"matmul", "3,4", "4,5", "--explain"}).out;
  CHECK_THAT(product, ContainsSubstring("2 · m · k · n = 2 · 3 · 4 · 5"));
  const std::string tensor = run_program({"tensor", "2,3,4", "--explain"}).out;
  CHECK_THAT(tensor, ContainsSubstring("2 · 3 · 4 = 24"));
}

TEST_CASE("wrong usage and wrong values of these commands") {
  CHECK_THAT(refused({"matmul", "3,4"}, 2), ContainsSubstring("two shapes"));
  CHECK_THAT(refused({"matmul", "--linear", "4", "5"}, 2), ContainsSubstring("IN OUT SHAPE"));
  CHECK_THAT(refused({"matmul", "--linear", "4", "5", "2,3,6"}, 3),
             ContainsSubstring("has length 6, but the layer has 4 input features"));
  CHECK_THAT(refused({"reduce", "b s -> b", "2,3"}, 2), ContainsSubstring("--op"));
  CHECK_THAT(refused({"reduce", "--op", "median", "b s -> b", "2,3"}, 2), ContainsSubstring("median"));
  CHECK_THAT(refused({"tensor", "2,3", "--dtype", "bf61"}, 3), ContainsSubstring("did you mean bf16"));
  CHECK_THAT(refused({"dtype", "bf61"}, 3), ContainsSubstring("did you mean bf16"));
  CHECK_THAT(refused({"dtype", "--value", "seven"}, 3), ContainsSubstring("is no number"));
  CHECK_THAT(refused({"tensor", "2,x"}, 3), ContainsSubstring("shape"));
}

TEST_CASE("every format writes something") {
  for (const char* format : {"text", "json", "csv", "markdown"}) {
    for (const Words& words : {Words{"tensor", "2,3", "x.t()"}, Words{"matmul", "3,4", "4,5"}, Words{"dtype", "fp16"},
                               Words{"dtype", "fp16", "--value", "1"}, Words{"repeat", "a -> a 2", "3"}}) {
      Words all = words;
      all.insert(all.end(), {"--format", format});
      const Ran ran = run_program(all);
      INFO(format << " " << words[0] << ran.err);
      CHECK(ran.exit == 0);
      CHECK(ran.out.size() > 20);
    }
  }
}
