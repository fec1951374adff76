// `llmcalc man`: the manual page in roff, and with --format markdown the reference in docs/reference/commands.md, both
// from the same definitions as --help.
#include "cli/all_commands.hpp"
#include "cli/help.hpp"
#include "core/suggest.hpp"
#include "core/version.hpp"

namespace llmcalc::cli {

namespace {

struct ExitMeaning {
  Exit exit;
  const char* meaning;
};
constexpr ExitMeaning exit_meanings[] = {
    {Exit::done, "done"},
    {Exit::check_failed, "a requested check failed (--require-fit, or check outside its tolerance)"},
    {Exit::usage, "wrong usage"},
    {Exit::bad_input, "bad input file or value, unknown name, or output that cannot be written"},
    {Exit::not_available, "a backend, a driver or a helper program is not available"},
    {Exit::measurement_failed, "a measurement failed its verification or never became stable"},
    {Exit::internal, "internal error: please report it"},
};

constexpr const char* kAbout =
    "llmcalc answers before anyone rents a GPU: what a language model costs (parameters, bytes, FLOPs), whether it "
    "fits (memory, "
    "phase by phase), how long it takes (time, MFU, money), and why. Results go to standard output, everything else to "
    "standard "
    "error.";

// Backslashes and hyphens have meanings in roff, and so has a dot or a quote at the start of a line.
std::string roff(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else if ((c == '.' || c == '\'') && (out.empty() || out.back() == '\n')) {
      out += std::string("\\&") + c;
    } else {
      out += c;
    }
  }
  return out;
}

std::string explained(const Option& option) {
  std::string text = option.help;
  // Tables (option.names) grow and are shown by `llmcalc list`.
  if (!option.choices.empty()) text += " (" + join(option.choices, "or") + ")";
  if (!option.shown_default.empty()) text += "; default: " + option.shown_default;
  return text;
}

std::string roff_options(const std::vector<Option>& options) {
  std::string out;
  for (const Option& option : options)
    out += ".TP\n.B " + roff(option_label(option)) + "\n" + roff(explained(option)) + "\n";
  return out;
}

std::string man_page() {
  std::string out = ".TH LLMCALC 1 \"\" \"llmcalc " + std::string(version) +
                    "\" \"User Commands\"\n.SH NAME\nllmcalc \\- what a language model costs\n" +
                    ".SH SYNOPSIS\n.B llmcalc\n.I COMMAND\n[arguments] [options]\n.SH DESCRIPTION\n" + roff(kAbout) +
                    "\n.SH COMMANDS\n";
  for (const Command& command : commands()) {
    if (command.hidden) continue;
    out += ".SS " + roff(usage_line(command)) + "\n" + roff(command.summary) + "\n";
    if (!command.description.empty()) out += ".PP\n" + roff(command.description) + "\n";
    for (const Positional& positional : command.positionals)
      out += ".TP\n.I " + roff(positional.name) + "\n" + roff(positional.help) + "\n";
    out += roff_options(command.options);
    for (const std::string& example : command.examples) out += ".PP\n.EX\n" + roff(example) + "\n.EE\n";
  }
  out += ".SH OPTIONS OF EVERY COMMAND\n" + roff_options(global_options()) + ".SH EXIT STATUS\n";
  for (const auto& [exit, meaning] : exit_meanings)
    out += ".TP\n.B " + std::to_string(static_cast<int>(exit)) + "\n" + roff(meaning) + "\n";
  return out + ".SH ENVIRONMENT\n.TP\n.B NO_COLOR\nwhen set and not empty, no colour is used\n";
}

std::string cell(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '|' ? std::string("\\|") : std::string(1, c);
  return out;
}

std::string markdown_options(const std::vector<Option>& options) {
  std::string out = "| option | meaning | default |\n|---|---|---|\n";
  for (const Option& option : options) {
    Option without_default = option;
    without_default.shown_default.clear();
    out += "| `" + cell(option_label(option)) + "` | " + cell(explained(without_default)) + " | " +
           cell(option.shown_default) + " |\n";
  }
  return out;
}

std::string reference() {
  std::string out = "# Commands\n\n<!-- Written by `llmcalc man --format markdown`; a test compares. -->\n\n" +
                    std::string(kAbout) + "\n";
  for (const Command& command : commands()) {
    if (command.hidden) continue;
    out += "\n## `" + usage_line(command) + "`\n\n" + command.summary + "\n";
    if (!command.description.empty()) out += "\n" + command.description + "\n";
    if (!command.positionals.empty()) out += "\n";
    for (const Positional& positional : command.positionals)
      out += "- `" + positional.name + "`: " + positional.help + "\n";
    if (!command.options.empty()) out += "\n" + markdown_options(command.options);
    if (!command.examples.empty()) out += "\n```\n";
    for (const std::string& example : command.examples) out += example + "\n";
    if (!command.examples.empty()) out += "```\n";
  }
  out += "\n## Options of every command, before or after its name\n\n" + markdown_options(global_options()) +
         "\n## Exit codes\n\n| code | meaning |\n|---:|---|\n";
  for (const auto& [exit, meaning] : exit_meanings)
    out += "| " + std::to_string(static_cast<int>(exit)) + " | " + meaning + " |\n";
  return out;
}

}  // namespace

Command man_command() {
  Command command;
  command.name = "man";
  command.summary = "the manual page, or with --format markdown the reference of all commands";
  command.examples = {"llmcalc man | man -l -"};
  command.run = [](const Arguments&, Output& output) {
    output.out = output.format == Format::markdown ? reference() : man_page();
    return Exit::done;
  };
  return command;
}

}  // namespace llmcalc::cli
