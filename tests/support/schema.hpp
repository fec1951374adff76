// The part of JSON Schema (2020-12) that docs/reference/schema uses, to hold the program's output against it.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace llmcalc::test {

// Each place where `value` is not what `schema` says ("/memory/peak: not an integer"). Throws std::logic_error for a
// keyword that is not understood: a schema that is not checked would promise too much.
std::vector<std::string> schema_faults(const nlohmann::json& schema, const nlohmann::json& value);

// docs/reference/schema/NAME.json
nlohmann::json published_schema(const std::string& name);

}  // namespace llmcalc::test
