#include "read/schema.hpp"

#include "core/suggest.hpp"

namespace llmcalc {
namespace {

// "llmcalc.model" of "llmcalc.model/1".
std::string_view kind_of(std::string_view schema) { return schema.substr(0, schema.find('/')); }

// "a model"; "" for a schema that is not known.
std::string in_words(std::string_view schema) {
  return schema == model_schema    ? "a model"
         : schema == device_schema ? "a device"
         : schema == node_schema   ? "a node"
                                   : "";
}

}  // namespace

std::string schema_of(const Value& root) {
  const Value* schema = root.find("schema");
  return schema && schema->kind == Value::Kind::text ? schema->text : std::string();
}

void check_schema(const Value& root, std::string_view wanted, Diagnostics& diagnostics) {
  const std::string line = "schema: " + std::string(wanted);
  const Value* schema = root.find("schema");
  if (!schema) {
    Place place = root.place;
    place.key = "schema";
    diagnostics.error(place, "is required and missing", "begin the file with `" + line + "`");
    return;
  }
  const std::string found = schema_of(root);
  if (found == wanted) return;
  const std::string is = in_words(found);
  if (!is.empty()) {
    diagnostics.error(schema->place, "this is " + is + "; " + in_words(wanted) + " is needed here",
                      found == node_schema ? "name its `device:`, and its `count:` with --gpus" : "");
  } else if (kind_of(found) == kind_of(wanted) && found.size() != kind_of(found).size()) {
    diagnostics.error(schema->place, in_quotes(found) + " is a version this program does not know", "it reads " + line);
  } else {
    diagnostics.error(
        schema->place, "must be " + std::string(wanted) + ", not " + in_quotes(schema->text),
        did_you_mean(found, {std::string(model_schema), std::string(device_schema), std::string(node_schema)}));
  }
}

}  // namespace llmcalc
