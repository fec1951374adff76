#include "read/device.hpp"

#include <algorithm>
#include <utility>

#include "core/fields.hpp"
#include "core/peaks.hpp"
#include "core/quantity.hpp"
#include "core/suggest.hpp"
#include "core/validate.hpp"
#include "read/measured.hpp"
#include "read/profile_fields.hpp"
#include "read/schema.hpp"

namespace llmcalc {
namespace {

// Peaks a profile can state; each may also end in _sparse. hardware/README.md says what they mean.
const std::vector<std::string>& peak_names() {
  static const std::vector<std::string> names = {
      "bf16",        "fp16",        "tf32",        "fp32",      "fp64",      "fp8",         "fp6",
      "fp4",         "int8",        "int4",        "int1",      "mxfp8",     "mxfp6",       "mxfp4",
      "nvfp4",       "fp16_acc16",  "fp16_acc32",  "fp8_acc16", "fp8_acc32", "fp16_vector", "bf16_vector",
      "fp64_tensor", "fp32_matrix", "fp64_matrix", "int8_dp4a",
  };
  return names;
}

bool is_peak(std::string name) {
  const std::string sparse = "_sparse";
  if (name.size() > sparse.size() && name.compare(name.size() - sparse.size(), sparse.size(), sparse) == 0) {
    name.resize(name.size() - sparse.size());
  }
  return std::find(peak_names().begin(), peak_names().end(), name) != peak_names().end();
}

void read_units(const Value& map, Device& device, Diagnostics& diagnostics) {
  Fields fields(map, diagnostics, "units");
  ComputeUnits units;
  units.count = fields.count("count");
  const std::optional<Hertz> clock = quantity(fields, "clock", parse_frequency);
  if (!clock && !fields.has("clock")) fields.error("clock", "is required and missing");
  units.clock = clock.value_or(Hertz(1));
  units.vector_clock = quantity(fields, "vector_clock", parse_frequency);
  if (!fields.has("rate_class")) fields.error("rate_class", "is required and missing");
  units.rate_class = fields.text("rate_class", "");
  report_unread(fields, true, diagnostics);
  device.units = units;
}

void read_memory(const Value& map, Device& device, Diagnostics& diagnostics) {
  Fields fields(map, diagnostics, "memory");
  device.memory_capacity = quantity(fields, "capacity", parse_bytes).value_or(Bytes(0));
  device.memory_visible = quantity(fields, "visible", parse_bytes);
  device.memory_bandwidth = quantity(fields, "bandwidth", parse_byte_rate);
  device.l2 = quantity(fields, "l2", parse_bytes);
  report_unread(fields, true, diagnostics);
}

void read_peaks(const Value& map, Device& device, Diagnostics& diagnostics) {
  Fields fields(map, diagnostics, "peak");
  for (const Entry& entry : map.map) {
    if (!is_peak(entry.key)) {
      diagnostics.error(entry.key_place, "unknown peak", did_you_mean(entry.key, peak_names()));
      continue;
    }
    const auto rate = quantity(fields, entry.key.c_str(), parse_flop_rate);
    if (rate) device.peak[entry.key] = *rate;
  }
}

void read_links(const Value& map, Device& device, Diagnostics& diagnostics) {
  Fields fields(map, diagnostics, "links");
  for (const std::string& name : link_names()) {
    if (!fields.has(name)) continue;
    Fields link(map_under(fields, name.c_str()), diagnostics, "links." + name);
    const auto rate = quantity(link, "per_direction", parse_byte_rate);
    if (name == "nvlink") {
      device.nvlink_per_direction = rate;
    } else if (rate) {
      device.other_links[name] = *rate;
    }
    report_unread(link, true, diagnostics);
  }
  if (fields.has("pcie")) {
    constexpr Count newest_generation = 9, most_lanes = 64;  // far beyond what exists; keeps slips out
    Fields pcie(map_under(fields, "pcie"), diagnostics, "links.pcie");
    const Count generation = pcie.count("generation"), lanes = pcie.count("lanes");
    if (generation > newest_generation) pcie.error("generation", "there is no such generation");
    if (lanes > most_lanes) pcie.error("lanes", "no device has that many lanes");
    device.pcie_generation = static_cast<int>(std::min(generation, newest_generation));
    device.pcie_lanes = static_cast<int>(std::min(lanes, most_lanes));
    report_unread(pcie, true, diagnostics);
  }
  report_unread(fields, true, diagnostics);
}

void read_price(const Value& map, Device& device, Diagnostics& diagnostics) {
  Fields fields(map, diagnostics, "price");
  if (!fields.has("usd_per_hour")) fields.error("usd_per_hour", "is required and missing");
  constexpr double most_dollars = 1e9;
  const double price = fields.number("usd_per_hour", 0);
  if (price < 0) fields.error("usd_per_hour", "is negative");
  if (price > most_dollars) fields.error("usd_per_hour", "is too large");
  device.price = DollarsPerHour(std::clamp(price, 0.0, most_dollars));
  if (const Value* as_of = fields.raw("as_of")) device.price_as_of = as_of->text;
  report_unread(fields, true, diagnostics);
}

// Where the key of a place stands in the file: "memory.visible" at its line and column.
Place located(const Place& place, const Value& root) {
  const Value* value = &root;
  for (std::size_t begin = 0; begin <= place.key.size() && value != nullptr;) {
    const std::size_t end = std::min(place.key.find('.', begin), place.key.size());
    value = value->find(place.key.substr(begin, end - begin));
    begin = end + 1;
  }
  if (value == nullptr) return place;
  Place found = value->place;
  found.key = place.key;
  return found;
}

void check_sources(const Device& device, const Fields& fields, Purpose purpose, Diagnostics& diagnostics) {
  if (!device.measured.empty()) return;  // measuring is the source
  std::vector<std::string> missing;
  for (const char* part : {"peak", "memory"}) {
    if (device.sources.count(part) == 0) missing.emplace_back(part);
  }
  if (missing.empty()) return;
  const std::string message = "nothing says where " + join(missing) + " come from";
  const std::string hint = "add sources: {peak: ..., memory: ...}";
  if (purpose == Purpose::validate) diagnostics.error(fields.place("sources"), message, hint);
  if (purpose == Purpose::use) diagnostics.warning(fields.place("sources"), message, hint);
}

}  // namespace

Device read_device(const Value& root, const std::string& source, Diagnostics& diagnostics, Purpose purpose) {
  Device device;
  device.source = source;
  Fields fields(root, diagnostics);
  if (root.kind != Value::Kind::map) return device;
  check_schema(root, device_schema, diagnostics);
  fields.ignore({"schema", "notes"});
  device.name = fields.text("name", "");
  if (!fields.has("name")) fields.error("name", "is required and missing");
  device.aliases = fields.texts("aliases");
  device.compute_capability = fields.optional_number("compute_capability", std::nullopt);
  if (fields.has("units")) read_units(map_under(fields, "units"), device, diagnostics);
  read_memory(map_under(fields, "memory", true), device, diagnostics);
  const bool measured = fields.has("measured");
  const Value& peaks = map_under(fields, "peak", !measured);
  read_peaks(peaks, device, diagnostics);
  device.waived = texts_under(fields, "waived", diagnostics);
  if (fields.has("links")) read_links(map_under(fields, "links"), device, diagnostics);
  device.power = quantity(fields, "power", parse_power);
  if (fields.has("price")) read_price(map_under(fields, "price"), device, diagnostics);
  device.sources = texts_under(fields, "sources", diagnostics);
  if (measured) read_measured(map_under(fields, "measured"), device, diagnostics);
  report_unread(fields, true, diagnostics);
  // After an error some part is missing, and what is said about the whole would mislead.
  if (!diagnostics.has_errors()) {
    Diagnostics of_whole;
    validate_device(device, of_whole);
    if (purpose == Purpose::validate) validate_peaks(device, of_whole);
    for (const Diagnostic& found : of_whole.all()) {
      if (found.severity == Severity::error)
        diagnostics.error(located(found.place, root), found.message, found.hint);
      else
        diagnostics.warning(located(found.place, root), found.message, found.hint);
    }
  }
  check_sources(device, fields, purpose, diagnostics);
  return device;
}

}  // namespace llmcalc
