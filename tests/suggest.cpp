// Did you mean ...?
#include "core/suggest.hpp"

#include "tests/catch.hpp"

using namespace llmcalc;

TEST_CASE("suggest: edit distance") {
  CHECK(edit_distance("", "") == 0);
  CHECK(edit_distance("abc", "") == 3);
  CHECK(edit_distance("paramters", "parameters") == 1);  // one letter left out
  CHECK(edit_distance("bandwith", "bandwidth") == 1);
  CHECK(edit_distance("adma", "adam") == 1);  // two letters swapped
  CHECK(edit_distance("kitten", "sitting") == 3);
  CHECK(edit_distance("hidden-size", "Hidden_Size") == 0);
  CHECK(edit_distance(std::string(1'000'000, 'a'), "a") > 1'000'000);
}

TEST_CASE("suggest: the nearest names, and none when nothing is near") {
  const std::vector<std::string> optimizers = {"none", "sgd", "adam", "adamw", "lion"};
  CHECK(did_you_mean("adamx", optimizers) == "did you mean adam or adamw?");
  CHECK(did_you_mean("zzzzzz", optimizers).empty());
  CHECK(did_you_mean("", optimizers).empty());
  const std::vector<std::string> devices = {"b100", "h100-nvl", "h100-pcie", "h100-sxm", "h200"};
  CHECK(nearest("h100", devices) == std::vector<std::string>{"h100-nvl", "h100-pcie", "h100-sxm"});
  CHECK(nearest("h900", devices).front() == "h200");
  // Words left out in the middle.
  CHECK(nearest("a100-40gb", {"a100-pcie-40gb", "a100-sxm-40gb", "a100-sxm-80gb"}) ==
        std::vector<std::string>{"a100-pcie-40gb", "a100-sxm-40gb"});
  CHECK(nearest("LLAMA-3-8B", {"llama-3-8b"}) == std::vector<std::string>{"llama-3-8b"});
}

TEST_CASE("suggest: lists and quotes") {
  CHECK(join({}) == "");
  CHECK(join({"a"}) == "a");
  CHECK(join({"a", "b"}, "or") == "a or b");
  CHECK(join({"a", "b", "c"}) == "a, b and c");
  CHECK(in_quotes("a\tb\xff") == "'a\\x09b\\xff'");
  CHECK(in_quotes(std::string(100, 'x')) == "'" + std::string(60, 'x') + "...'");
}
