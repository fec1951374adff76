// What --format json prints is what docs/reference/schema says, for jobs of every kind.
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/catch.hpp"
#include "tests/support/json_runs.hpp"

using llmcalc::test::holds;
using llmcalc::test::output_of;
using llmcalc::test::schema_faults;
using nlohmann::json;

namespace {

using Faults = std::vector<std::string>;

}  // namespace

TEST_CASE("the validator sees faults") {
  const json schema =
      json::parse(R"({"type": "object", "required": ["a"], "additionalProperties": false, "properties": {
      "a": {"type": "integer", "minimum": 0}, "b": {"type": "array", "items": {"enum": ["x"]}},
      "c": {"anyOf": [{"type": "number"}, {"type": "object", "additionalProperties": {"type": "number"}}]}}})");
  CHECK(schema_faults(schema, json::parse(R"({"a": 1, "b": ["x"], "c": {"d": 2}})")) == Faults{});
  CHECK(schema_faults(schema, json::parse(R"({"a": 60000000000000000000})")) == Faults{});
  CHECK(schema_faults(schema, json::parse(R"({"b": []})")) == Faults{"/a: missing"});
  CHECK(schema_faults(schema, json::parse(R"({"a": 1.5})")) == Faults{"/a: not of type integer"});
  CHECK(schema_faults(schema, json::parse(R"({"a": null})")) == Faults{"/a: not of type integer"});
  CHECK(schema_faults(schema, json::parse(R"({"a": -1})")) == Faults{"/a: too small"});
  CHECK(schema_faults(schema, json::parse(R"({"a": 1, "b": ["y"]})")) == Faults{"/b/0: not one of [\"x\"]"});
  CHECK(schema_faults(schema, json::parse(R"({"a": 1, "c": "x"})")) == Faults{"/c: none of the forms it may have"});
  CHECK(schema_faults(schema, json::parse(R"({"a": 1, "z": 1})")) == Faults{"/z: not in the schema"});
  CHECK(schema_faults(schema, json(3)) == Faults{": not of type object"});
  CHECK_THROWS_AS(schema_faults(json::parse(R"({"pattern": "x"})"), json("x")), std::logic_error);
}

TEST_CASE("estimate as its schema says") {
  holds("estimate", {"estimate", "gpt2"});
  holds("estimate", {"estimate", "llama-3-8b", "h100-sxm"});
  holds("estimate", {"estimate", "llama-3-8b", "h100-sxm", "--tokens", "15T", "--gpus", "512", "--mfu", "40%"});
  holds("estimate", {"estimate", "llama-3-8b", "--recompute", "full", "--precision", "bf16", "--attention", "eager"});
}

TEST_CASE("params as its schema says") {
  holds("params", {"params", "gpt2"});
  holds("params", {"params", "llama-3-8b", "--tensors"});
}

TEST_CASE("the small commands as their schemas say") {
  holds("tensor", {"tensor", "2,16,8", "--dtype", "bf16", "x.view(2,16,2,4).transpose(1,2)[:, ::2].contiguous()"});
  holds("einsum", {"matmul", "2,3", "3,4"});
  holds("einsum", {"einsum", "bqd,bkd->bqk", "2,3,4", "2,5,4"});
  holds("einsum", {"rearrange", "b (h d) -> b h d", "2,12", "h=3"});
  holds("einsum", {"reduce", "--op", "mean", "b d -> b", "2,12"});
  holds("einsum", {"repeat", "d -> n d", "4", "n=2"});
  holds("einsum", {"matmul", "2,3", "3,4", "--device", "h100-sxm"});
  holds("dtype", {"dtype"});
  holds("dtype", {"dtype", "bf16", "fp16", "--value", "70000"});
  holds("rule", {"rule", "6nd", "parameters=1B", "tokens=10B"});
  holds("rule", {"rule", "training_time", "parameters=1B", "tokens=10B", "peak=100TFLOP/s", "mfu=40%"});
}

TEST_CASE("the tables as their schema says, each under its own name") {
  const std::vector<std::vector<std::string>> tables = {
      {"list", "models"},     {"list", "devices"}, {"list", "architectures"},          {"list", "optimizers"},
      {"list", "precisions"}, {"list", "rules"},   {"validate", "profiles/gpt2.yaml"}, {"measure", "--list-backends"}};
  for (const std::vector<std::string>& arguments : tables) {
    holds("list", arguments);
    const json output = output_of(arguments);
    REQUIRE(output.size() == 2);
    const std::string name = output["schema"].get<std::string>();
    CHECK(output.contains(name.substr(8, name.size() - 10)));  // "llmcalc.NAME/1"
  }
  CHECK(output_of({"rule"}) == output_of({"list", "rules"}));  // one question, one answer
}

TEST_CASE("every schema is in the index, and every command of the index has one") {
  std::ifstream file(LLMCALC_SOURCE_DIR "/docs/reference/README.md");
  const std::string index{std::istreambuf_iterator<char>(file), {}};
  for (const auto& schema : std::filesystem::directory_iterator(LLMCALC_SOURCE_DIR "/docs/reference/schema"))
    CHECK_THAT(index, Catch::Matchers::ContainsSubstring("(schema/" + schema.path().filename().string() + ")"));
  for (const auto& page : std::filesystem::directory_iterator(LLMCALC_SOURCE_DIR "/docs/reference"))
    if (page.path().extension() == ".md" && page.path().filename() != "README.md")
      CHECK_THAT(index, Catch::Matchers::ContainsSubstring("(" + page.path().filename().string() + ")"));
}

TEST_CASE("roofline as its schema says") {
  holds("roofline", {"roofline", "h100-sxm"});
  holds("roofline", {"roofline", "gpt2", "h100-sxm"});
  holds("roofline", {"roofline", "--peak", "100TFLOP/s", "--bandwidth", "1TB/s", "--intensity", "20"});
}
