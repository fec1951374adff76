// What --format json prints is what docs/reference/schema says, for jobs of every kind.
#include <nlohmann/json.hpp>

#include "tests/catch.hpp"
#include "tests/support/program.hpp"
#include "tests/support/schema.hpp"

using llmcalc::test::published_schema;
using llmcalc::test::Ran;
using llmcalc::test::run_program;
using llmcalc::test::schema_faults;
using nlohmann::json;

namespace {

using Faults = std::vector<std::string>;

json output_of(std::vector<std::string> arguments) {
  arguments.insert(arguments.end(), {"--format", "json"});
  const Ran ran = run_program(arguments);
  INFO(ran.err);
  REQUIRE(ran.exit == 0);
  return json::parse(ran.out);
}

void holds(const std::string& schema, const std::vector<std::string>& arguments) {
  const json output = output_of(arguments);
  INFO(output.dump(1));
  CHECK(schema_faults(published_schema(schema), output) == Faults{});
}

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
