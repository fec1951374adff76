// llmcalc run with --format json, and what it printed held against its published schema.
#pragma once

#include "tests/catch.hpp"
#include "tests/support/program.hpp"
#include "tests/support/schema.hpp"

namespace llmcalc::test {

inline nlohmann::json output_of(std::vector<std::string> arguments) {
  arguments.insert(arguments.end(), {"--format", "json"});
  const Ran ran = run_program(arguments);
  INFO(ran.err);
  REQUIRE(ran.exit == 0);
  return nlohmann::json::parse(ran.out);
}

inline void holds(const std::string& schema, const std::vector<std::string>& arguments) {
  const nlohmann::json output = output_of(arguments);
  INFO(output.dump(1));
  CHECK(schema_faults(published_schema(schema), output) == std::vector<std::string>{});
}

}  // namespace llmcalc::test
