#include "read/names.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <utility>

#include "core/suggest.hpp"
#include "read/builtin.hpp"
#include "read/device.hpp"
#include "read/yaml.hpp"

namespace llmcalc {
namespace {

// How a name can match; the nearest way that finds anything decides.
enum class Match { exact, without_vendor, none };

Match match(const Device& device, const std::string& normal) {
  Match best = Match::none;
  const auto consider = [&](std::string_view name) {
    const std::string known = normal_name(name);
    if (known == normal) best = Match::exact;
    if (best == Match::none && without_vendor(known) == without_vendor(normal)) best = Match::without_vendor;
  };
  consider(device.name);
  for (const std::string& alias : device.aliases) consider(alias);
  return best;
}

Device parse(const BuiltIn& built_in, Diagnostics& diagnostics) {
  const std::string file = "built-in " + std::string(built_in.id);
  Device device = read_device(read_yaml(built_in.text, file), "built-in", diagnostics);
  diagnostics.throw_if_errors();
  device.id = built_in.id;
  return device;
}

// Devices of that name. Only profiles whose text holds the name are parsed: most of them do not.
std::vector<Device> named(const std::string& normal) {
  std::vector<Device> exact, similar;
  const std::string needle = without_vendor(normal);
  for (const BuiltIn& built_in : builtin_devices()) {
    if (needle.empty() || normal_name(built_in.text).find(needle) == std::string::npos) continue;
    Diagnostics unused;
    Device device = parse(built_in, unused);
    const Match found = match(device, normal);
    if (found == Match::none) continue;
    (found == Match::exact ? exact : similar).push_back(std::move(device));
  }
  return exact.empty() ? similar : exact;
}

void keep_of_size(std::vector<Device>& devices, Count gigabytes) {
  devices.erase(std::remove_if(devices.begin(), devices.end(),
                               [&](const Device& device) { return !has_memory(device, gigabytes); }),
                devices.end());
}

[[noreturn]] void refuse_shared(const std::string& name, const std::vector<Device>& devices) {
  std::vector<std::string> ids;
  for (const Device& device : devices) ids.push_back(device.id);
  throw Error(Exit::bad_input, in_quotes(name) + " is the name of " + join(ids) + "; they differ",
              "say which: " + join(ids, "or"));
}

[[noreturn]] void refuse_unknown(const std::string& name) {
  std::vector<std::string> ids, names;
  for (const BuiltIn& built_in : builtin_devices()) ids.emplace_back(built_in.id);
  std::string hint = did_you_mean(name, ids);
  if (hint.empty()) {
    Diagnostics unused;
    for (const BuiltIn& built_in : builtin_devices()) {
      const Device device = parse(built_in, unused);
      names.insert(names.end(), device.aliases.begin(), device.aliases.end());
      names.push_back(device.name);
    }
    hint = did_you_mean(name, names);
  }
  throw Error(Exit::bad_input, "unknown device " + in_quotes(name) + ": no file, built-in id or driver's name",
              hint.empty() ? "`llmcalc list devices` shows the built-in ones" : hint);
}

}  // namespace

std::string normal_name(std::string_view name) {
  std::string result;
  result.reserve(name.size());
  for (char c : name) {
    const bool blank = c == ' ' || c == '\t' || c == '\n' || c == '\r';
    if (blank && (result.empty() || result.back() == ' ')) continue;
    result += blank ? ' ' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  if (!result.empty() && result.back() == ' ') result.pop_back();
  return result;
}

std::string without_vendor(std::string_view normal) {
  for (std::string_view vendor : {"nvidia ", "amd ", "intel(r) ", "intel "}) {
    if (normal.substr(0, vendor.size()) == vendor) return std::string(normal.substr(vendor.size()));
  }
  return std::string(normal);
}

std::optional<SizedName> memory_size_in(std::string_view normal) {
  const auto is_digit = [&](std::size_t i) { return i < normal.size() && normal[i] >= '0' && normal[i] <= '9'; };
  const auto is_edge = [&](std::size_t i) { return i >= normal.size() || normal[i] == ' ' || normal[i] == '-'; };
  constexpr std::size_t most_digits = 5;
  for (std::size_t start = 0; start < normal.size(); ++start) {
    if (!is_digit(start) || (start > 0 && !is_edge(start - 1))) continue;
    std::size_t end = start;
    Count gigabytes = 0;
    for (; is_digit(end) && end - start < most_digits; ++end) gigabytes = gigabytes * 10 + (normal[end] - '0');
    if (end < normal.size() && normal[end] == ' ') ++end;
    for (std::string_view unit : {"gib", "gb"}) {
      if (normal.substr(end, unit.size()) != unit || !is_edge(end + unit.size())) continue;
      std::string rest(normal.substr(0, start));
      while (!rest.empty() && is_edge(rest.size() - 1) && (rest.back() == ' ' || rest.back() == '-')) rest.pop_back();
      rest += normal.substr(end + unit.size());
      return SizedName{normal_name(rest), gigabytes};
    }
  }
  return std::nullopt;
}

bool has_memory(const Device& device, Count gigabytes) {
  constexpr double decimal = 1e9, binary = 1024.0 * 1024 * 1024;
  const double capacity = device.memory_capacity.as_double();
  return std::llround(capacity / decimal) == gigabytes || std::llround(capacity / binary) == gigabytes;
}

Device find_device(const std::string& name, Diagnostics& diagnostics) {
  const std::string normal = normal_name(name);
  for (const BuiltIn& built_in : builtin_devices()) {
    if (built_in.id == normal) return parse(built_in, diagnostics);
  }
  std::vector<Device> found = named(normal);
  const std::optional<SizedName> sized = memory_size_in(normal);
  if (found.size() > 1 && sized) {
    std::vector<Device> fitting = found;
    keep_of_size(fitting, sized->gigabytes);
    if (!fitting.empty()) found = std::move(fitting);
  }
  if (found.empty() && sized) {
    found = named(sized->rest);
    keep_of_size(found, sized->gigabytes);
  }
  if (found.size() > 1) refuse_shared(name, found);
  if (found.empty()) refuse_unknown(name);
  return found.front();
}

}  // namespace llmcalc
