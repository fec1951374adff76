#include "tests/support/schema.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <set>
#include <stdexcept>

namespace llmcalc::test {

namespace {

using nlohmann::json;

bool is_a(const std::string& type, const json& value) {
  if (type == "object") return value.is_object();
  if (type == "array") return value.is_array();
  if (type == "string") return value.is_string();
  if (type == "boolean") return value.is_boolean();
  if (type == "number") return value.is_number();
  // A whole number past 2^64 reaches us as a double; JSON Schema calls every number without a fraction an integer.
  if (type == "integer") return value.is_number() && std::trunc(value.get<double>()) == value.get<double>();
  throw std::logic_error("type " + type + " is not understood");
}

class Check {
 public:
  std::vector<std::string> faults;

  void value(const json& schema, const json& value, const std::string& place) {
    static const std::set<std::string> known = {"$schema", "title",    "description",         "type",  "const",
                                                "enum",    "required", "properties",          "items", "minimum",
                                                "maximum", "anyOf",    "additionalProperties"};
    for (const auto& [keyword, _] : schema.items()) {
      if (known.count(keyword) == 0) throw std::logic_error("keyword " + keyword + " is not understood");
    }
    if (schema.contains("type") && !is_a(schema["type"], value)) {
      faults.push_back(place + ": not of type " + schema["type"].get<std::string>());
      return;
    }
    if (schema.contains("const") && schema["const"] != value)
      faults.push_back(place + ": not " + schema["const"].dump());
    if (schema.contains("enum") &&
        std::find(schema["enum"].begin(), schema["enum"].end(), value) == schema["enum"].end()) {
      faults.push_back(place + ": not one of " + schema["enum"].dump());
    }
    if (schema.contains("minimum") && value < schema["minimum"]) faults.push_back(place + ": too small");
    if (schema.contains("maximum") && value > schema["maximum"]) faults.push_back(place + ": too large");
    if (schema.contains("anyOf")) any_of(schema["anyOf"], value, place);
    if (value.is_object()) object(schema, value, place);
    if (value.is_array() && schema.contains("items")) {
      for (std::size_t i = 0; i < value.size(); ++i)
        this->value(schema["items"], value[i], place + "/" + std::to_string(i));
    }
  }

 private:
  void any_of(const json& choices, const json& value, const std::string& place) {
    for (const json& choice : choices) {
      if (schema_faults(choice, value).empty()) return;
    }
    faults.push_back(place + ": none of the forms it may have");
  }

  void object(const json& schema, const json& value, const std::string& place) {
    for (const json& key : schema.value("required", json::array())) {
      if (!value.contains(key.get<std::string>())) faults.push_back(place + "/" + key.get<std::string>() + ": missing");
    }
    const json properties = schema.value("properties", json::object());
    const json others = schema.value("additionalProperties", json(true));
    for (const auto& [key, member] : value.items()) {
      const std::string at = place + "/" + key;
      if (properties.contains(key)) {
        this->value(properties[key], member, at);
      } else if (others.is_object()) {
        this->value(others, member, at);
      } else if (others == false) {
        faults.push_back(at + ": not in the schema");
      }
    }
  }
};

}  // namespace

std::vector<std::string> schema_faults(const nlohmann::json& schema, const nlohmann::json& value) {
  Check check;
  check.value(schema, value, "");
  return check.faults;
}

nlohmann::json published_schema(const std::string& name) {
  std::ifstream file(std::string(LLMCALC_SOURCE_DIR) + "/docs/reference/schema/" + name + ".json");
  if (!file) throw std::runtime_error("no schema " + name);
  return nlohmann::json::parse(file);
}

}  // namespace llmcalc::test
