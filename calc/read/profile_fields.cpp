#include "read/profile_fields.hpp"

namespace llmcalc {

const std::vector<std::string>& link_names() {
  static const std::vector<std::string> names = {"nvlink", "xgmi", "ici", "roce", "neuronlink"};
  return names;
}

const Value& map_under(Fields& fields, const char* key, bool required) {
  static const Value empty = [] {
    Value value;
    value.kind = Value::Kind::map;
    return value;
  }();
  const Value* value = fields.raw(key);
  if (!value) {
    if (required) fields.error(key, "is required and missing");
    return empty;
  }
  if (value->kind == Value::Kind::map) return *value;
  fields.error(key, "must be a map of keys and values");
  return empty;
}

std::map<std::string, std::string> texts_under(Fields& fields, const char* key, Diagnostics& diagnostics) {
  std::map<std::string, std::string> result;
  for (const Entry& entry : map_under(fields, key).map) {
    if (entry.value.kind == Value::Kind::list || entry.value.kind == Value::Kind::map || entry.value.text.empty()) {
      diagnostics.error(entry.value.place, "must be text");
    }
    result[entry.key] = entry.value.text;
  }
  return result;
}

}  // namespace llmcalc
