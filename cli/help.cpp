// The overview, the help of one command, and the command `llmcalc help`.
#include "cli/help.hpp"

#include "cli/all_commands.hpp"
#include "cli/version.hpp"
#include "cli/words.hpp"
#include "core/suggest.hpp"
#include "report/layout.hpp"
#include "report/terminal.hpp"

namespace llmcalc::cli {

namespace {

constexpr std::size_t kWidth = 100;  // columns of help and reports
constexpr std::size_t kIndent = 2;
constexpr std::size_t kLabelColumn = 28;  // where the explanations begin

std::string heading(const std::string& text, bool colour) { return report::bold(text, colour) + "\n"; }

// "  label      explanation", the explanation wrapped under itself.
std::string entry(const std::string& label, const std::string& text, std::size_t column = kLabelColumn) {
  const std::string start(kIndent, ' ');
  const std::vector<std::string> lines = report::wrap(text, kWidth - column);
  std::string out = start + label;
  bool fresh = report::display_width(out) + 2 > column;
  if (fresh) out += "\n";
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::size_t used = i == 0 && !fresh ? report::display_width(start + label) : 0;
    out += std::string(column - used, ' ') + lines[i] + "\n";
  }
  if (lines.empty()) out += "\n";
  return out;
}

std::string option_help(const Option& option) {
  std::string text = option.help;
  const bool in_label = joined(option.choices, "|") == option.value;
  if (!option.choices.empty() && !in_label) text += ": " + joined(option.choices, ", ");
  if (!option.shown_default.empty()) text += " [" + option.shown_default + "]";
  return text;
}

std::string options_section(const std::string& title, const std::vector<const Option*>& options, bool colour) {
  std::string out = "\n" + heading(title + ":", colour);
  for (const Option* option : options) out += entry(option_label(*option), option_help(*option));
  return out;
}

// Options under their group's heading, groups in the order of their first option.
std::string grouped_options(const Command& command, bool colour) {
  std::vector<std::pair<std::string, std::vector<const Option*>>> groups;
  for (const Option& option : command.options) {
    const std::string title = option.group.empty() ? "Options" : option.group;
    auto group = groups.begin();
    while (group != groups.end() && group->first != title) ++group;
    if (group == groups.end()) group = groups.insert(groups.end(), {title, {}});
    group->second.push_back(&option);
  }
  std::string out;
  for (const auto& [title, options] : groups) out += options_section(title, options, colour);
  return out;
}

std::string global_section(bool colour) {
  std::vector<const Option*> options;
  for (const Option& option : global_options()) options.push_back(&option);
  return options_section("Options of every command, before or after its name", options, colour);
}

std::string paragraphs(const std::string& text) {
  std::string out;
  for (const std::string& line : report::wrap(text, kWidth)) out += line + "\n";
  return out;
}

}  // namespace

std::string option_label(const Option& option) {
  const std::string name = (option.name == "help" ? "-h, --" : "--") + option.name;
  return option.value.empty() ? name : name + " " + option.value;
}

std::string usage_line(const Command& command) {
  std::string line = "llmcalc " + command.name;
  for (const Positional& positional : command.positionals) {
    const std::string name = positional.name + (positional.repeated ? "..." : "");
    line += positional.required ? " " + name : " [" + name + "]";
  }
  if (!command.options.empty()) line += " [options]";
  return line;
}

std::string overview(bool colour) {
  std::string out =
      version_line() + "\n" +
      "What a language model costs before anyone rents a GPU: parameters, FLOPs, memory, fit, time, money.\n\n" +
      heading("Usage:", colour) + "  llmcalc COMMAND [arguments] [options]\n\n" + heading("Commands:", colour);
  for (const Command& command : commands()) {
    constexpr std::size_t kCommandColumn = 14;
    if (!command.hidden)
      out += entry(report::bold(command.name, colour), command.summary,
                   kCommandColumn + (colour ? report::bold("", true).size() : 0));
  }
  out += global_section(colour);
  out += "\n" + heading("Try:", colour) +
         "  llmcalc estimate llama-3-8b h100-sxm    does it fit, how long does a step take\n"
         "  llmcalc list models                     the models and devices that are built in\n"
         "  llmcalc help estimate                   everything about one command\n";
  return out;
}

std::string command_help(const Command& command, bool colour) {
  std::string out = paragraphs(command.summary) + "\n" + heading("Usage:", colour) + "  " + usage_line(command) + "\n";
  if (!command.description.empty()) out += "\n" + paragraphs(command.description);
  if (!command.positionals.empty()) {
    out += "\n" + heading("Arguments:", colour);
    for (const Positional& positional : command.positionals) {
      const std::string choices = positional.choices.empty() ? "" : ": " + joined(positional.choices, ", ");
      out += entry(positional.name, positional.help + choices);
    }
  }
  out += grouped_options(command, colour) + global_section(colour);
  if (!command.examples.empty()) {
    out += "\n" + heading(command.examples.size() == 1 ? "Example:" : "Examples:", colour);
    for (const std::string& example : command.examples) out += "  " + example + "\n";
  }
  return out;
}

Command help_command() {
  Command command;
  command.name = "help";
  command.summary = "the overview, or everything about one command";
  command.examples = {"llmcalc help estimate"};
  command.positionals = {{.name = "COMMAND", .help = "the command to explain", .required = false}};
  command.run = [](const Arguments& arguments, Output& output) {
    const std::optional<std::string> name = arguments.get("COMMAND");
    if (!name) {
      output.out = overview(output.colour);
      return Exit::done;
    }
    const std::optional<Command> explained = find_command(*name);
    if (!explained) throw Error(Exit::usage, "unknown command '" + *name + "'", did_you_mean(*name, command_names()));
    output.out = command_help(*explained, output.colour);
    return Exit::done;
  };
  return command;
}

}  // namespace llmcalc::cli
