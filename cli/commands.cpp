// The list of commands, in the order of --help, and the options all of them share.
#include <algorithm>
#include <iterator>

#include "cli/all_commands.hpp"

namespace llmcalc::cli {

namespace {

struct Entry {
  const char* name;
  Command (*make)();
  bool hidden = false;
};

// Making a command fills in all its help; only the one that was asked for is made.
// clang-format off: one a line
constexpr Entry registry[] = {
    {"estimate", estimate_command},
    {"params", params_command},
    {"roofline", roofline_command},
    {"explain", explain_command},
    {"compare", compare_command},
    {"mfu", mfu_command},
    {"rule", rule_command},
    {"tensor", tensor_command}, {"matmul", matmul_command}, {"einsum", einsum_command}, {"rearrange", rearrange_command}, {"reduce", reduce_command}, {"repeat", repeat_command}, {"dtype", dtype_command},
    {"measure", measure_command},
    {"check", check_command},
    {"list", list_command},
    {"validate", validate_command},
    {"help", help_command},
    {"completions", completions_command, true},
    {"man", man_command, true},
};
// clang-format on

}  // namespace

const std::vector<Command>& commands() {
  static const std::vector<Command> all = [] {
    std::vector<Command> made;
    for (const Entry& entry : registry) {
      made.push_back(entry.make());
      made.back().hidden = entry.hidden;
    }
    return made;
  }();
  return all;
}

std::optional<Command> find_command(const std::string& name) {
  const auto* entry =
      std::find_if(std::begin(registry), std::end(registry), [&](const Entry& e) { return name == e.name; });
  if (entry == std::end(registry)) return std::nullopt;
  Command command = entry->make();
  command.hidden = entry->hidden;
  return command;
}

std::vector<std::string> command_names() {
  std::vector<std::string> names;
  for (const Entry& entry : registry) {
    if (!entry.hidden) names.emplace_back(entry.name);
  }
  return names;
}

const std::vector<Option>& global_options() {
  static const std::vector<Option> options = {
      {.name = "format",
       .value = "F",
       .help = "how the result is written",
       .shown_default = "text",
       .choices = {"text", "json", "csv", "markdown"}},
      {.name = "explain", .help = "show every number with its formula, values and source"},
      {.name = "help", .help = "show this help, with examples"},
      {.name = "version", .help = "show the version and the backends built in"},
  };
  return options;
}

std::optional<std::string> Arguments::get(const std::string& name) const {
  const auto found = values.find(name);
  if (found == values.end() || found->second.empty()) return std::nullopt;
  return found->second.back();
}

const std::vector<std::string>& Arguments::all(const std::string& name) const {
  static const std::vector<std::string> none;
  const auto found = values.find(name);
  return found == values.end() ? none : found->second;
}

}  // namespace llmcalc::cli
