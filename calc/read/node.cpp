#include "read/node.hpp"

#include "read/names.hpp"
#include "read/profile_fields.hpp"
#include "read/schema.hpp"

namespace llmcalc {
namespace {

void check_device(Fields& fields, Diagnostics& diagnostics) {
  const std::string device = fields.text("device", "");
  if (!fields.has("device")) {
    fields.error("device", "is required and missing", "the id of a device, such as h100-sxm");
    return;
  }
  try {
    Diagnostics of_device;
    find_device(device, of_device);
  } catch (const Error& error) {  // with the nearest known one
    for (const Diagnostic& problem : error.diagnostics())
      diagnostics.error(fields.place("device"), problem.message, problem.hint);
  }
}

void check_links(Fields& fields, Diagnostics& diagnostics) {
  const Value& links = map_under(fields, "links", true);
  Fields all(links, diagnostics, "links");
  std::vector<std::string> names = link_names();
  names.push_back("network");  // to the next node
  for (const std::string& name : names) {
    if (!all.has(name.c_str())) continue;
    Fields link(map_under(all, name.c_str()), diagnostics, "links." + name);
    if (!link.has("per_direction")) link.error("per_direction", "is required and missing", "such as 450 GB/s");
    quantity(link, "per_direction", parse_byte_rate);
    report_unread(link, true, diagnostics);
  }
  report_unread(all, true, diagnostics);
}

}  // namespace

void check_node(const Value& root, Diagnostics& diagnostics) {
  Fields fields(root, diagnostics);
  if (root.kind != Value::Kind::map) return;
  check_schema(root, node_schema, diagnostics);
  fields.ignore({"schema", "notes"});
  if (!fields.has("name")) fields.error("name", "is required and missing");
  for (const char* words : {"name", "network", "topology"}) fields.text(words, "");
  check_device(fields, diagnostics);
  fields.count("count");
  if (fields.has("per_tray")) fields.count("per_tray");
  check_links(fields, diagnostics);
  if (texts_under(fields, "sources", diagnostics).empty())
    diagnostics.error(fields.place("sources"), "nothing says where the figures come from", "add sources: {links: ...}");
  report_unread(fields, true, diagnostics);
}

}  // namespace llmcalc
