// `llmcalc completions bash|zsh|fish`: completion scripts from the same definitions as --help.
#include <algorithm>
#include <map>

#include "cli/all_commands.hpp"
#include "cli/words.hpp"
#include "read/load.hpp"

namespace llmcalc::cli {

namespace {

std::vector<std::string> values_of(const Option& option) {
  return option.names == nullptr ? option.choices : option.names();
}

// What can stand in a place of the line. MODEL and DEVICE may be files as well.
std::vector<std::string> values_of(const Positional& positional) {
  if (positional.name == "MODEL") return built_in_model_ids();
  if (positional.name == "DEVICE") return built_in_device_ids();
  if (positional.name == "COMMAND") return command_names();
  return positional.choices;
}

std::vector<const Option*> all_options(const Command& command) {
  std::vector<const Option*> options;
  for (const Option& option : command.options) options.push_back(&option);
  for (const Option& option : global_options()) options.push_back(&option);
  return options;
}

std::string single_quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

// The options that take one of a fixed set of values, over all commands.
std::map<std::string, std::string> option_values() {
  std::map<std::string, std::string> values;
  for (const Command& command : commands()) {
    for (const Option* option : all_options(command)) values["--" + option->name] = joined(values_of(*option));
  }
  return values;
}

std::vector<std::string> words_of(const Command& command) {
  std::vector<std::string> words;
  for (const Positional& positional : command.positionals) {
    for (const std::string& word : values_of(positional)) words.push_back(word);
  }
  return words;
}

std::string bash() {
  std::string out =
      "# Completion of llmcalc in bash: source this file, or install it as "
      "/usr/share/bash-completion/completions/llmcalc\n"
      "_llmcalc() {\n"
      "  local current=\"${COMP_WORDS[COMP_CWORD]}\" previous=\"${COMP_WORDS[COMP_CWORD-1]}\" command= words= word\n"
      "  for word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n"
      "    case \"$word\" in\n"
      "      " +
      [] {
        std::string names;
        for (const std::string& name : command_names()) names += (names.empty() ? "" : "|") + name;
        return names;
      }() +
      ") command=\"$word\"; break;;\n"
      "    esac\n"
      "  done\n"
      "  case \"$previous\" in\n";
  for (const auto& [option, values] : option_values()) {
    if (!values.empty())
      out += "    " + option + ") COMPREPLY=($(compgen -W '" + values + "' -- \"$current\")); return;;\n";
  }
  out += "  esac\n  case \"$command\" in\n    '') words='" + joined(command_names()) +
         " --format --explain --help --version';;\n";
  for (const Command& command : commands()) {
    if (command.hidden) continue;
    std::vector<std::string> words = words_of(command);
    for (const Option* option : all_options(command)) words.push_back("--" + option->name);
    out += "    " + command.name + ") words='" + joined(words) + "';;\n";
  }
  out +=
      "  esac\n"
      "  COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
      "  [[ -n $command && $current != -* ]] && COMPREPLY+=($(compgen -f -- \"$current\"))\n"
      "}\n"
      "complete -o filenames -F _llmcalc llmcalc\n";
  return out;
}

// In the specifications of _arguments, brackets and colons part the fields.
std::string zsh_text(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':') out += '\\';
    out += c;
  }
  return out;
}

std::string zsh_option(const Option& option) {
  std::string spec = "--" + option.name + (option.value.empty() ? "" : "=") + "[" + zsh_text(option.help) + "]";
  if (!option.value.empty()) {
    const std::string values = joined(values_of(option));
    spec += ":" + zsh_text(option.value) + ":" + (values.empty() ? "_files" : "(" + values + ")");
  }
  return single_quoted(spec);
}

std::string zsh() {
  std::string out =
      "#compdef llmcalc\n"
      "# Completion of llmcalc in zsh: put this file, named _llmcalc, into a folder of $fpath\n"
      "_llmcalc() {\n"
      "  local -a llmcalc_commands\n"
      "  llmcalc_commands=(\n";
  for (const Command& command : commands()) {
    if (!command.hidden) out += "    " + single_quoted(command.name + ":" + zsh_text(command.summary)) + "\n";
  }
  out +=
      "  )\n"
      "  if (( CURRENT == 2 )); then\n"
      "    _describe command llmcalc_commands\n"
      "    return\n"
      "  fi\n"
      "  local llmcalc_command=$words[2]\n"
      "  shift words\n"
      "  (( CURRENT-- ))\n"
      "  case $llmcalc_command in\n";
  for (const Command& command : commands()) {
    if (command.hidden) continue;
    out += "    " + command.name + ")\n      _arguments";
    for (const Option* option : all_options(command)) out += " \\\n        " + zsh_option(*option);
    const std::string words = joined(words_of(command));
    out += " \\\n        " + single_quoted("*:argument:" + (words.empty() ? std::string("_files")
                                                                          : "{_alternative \"words:name:(" + words +
                                                                                ")\" \"files:file:_files\"}"));
    out += "\n      ;;\n";
  }
  out +=
      "  esac\n"
      "}\n"
      "_llmcalc \"$@\"\n";
  return out;
}

std::string fish() {
  std::string out = "# Completion of llmcalc in fish: put this file into ~/.config/fish/completions/llmcalc.fish\n";
  for (const Command& command : commands()) {
    if (command.hidden) continue;
    out += "complete -c llmcalc -n __fish_use_subcommand -a " + command.name + " -d " + single_quoted(command.summary) +
           "\n";
    const std::string within = "complete -c llmcalc -n '__fish_seen_subcommand_from " + command.name + "'";
    const std::string words = joined(words_of(command));
    if (!words.empty()) out += within + " -a " + single_quoted(words) + "\n";
    for (const Option* option : all_options(command)) {
      out += within + " -l " + option->name + " -d " + single_quoted(option->help);
      if (!option->value.empty()) out += " -r";
      const std::string values = joined(values_of(*option));
      if (!values.empty()) out += " -f -a " + single_quoted(values);
      out += "\n";
    }
  }
  return out;
}

}  // namespace

Command completions_command() {
  Command command;
  command.name = "completions";
  command.summary = "a completion script for your shell";
  command.examples = {"llmcalc completions bash > ~/.local/share/bash-completion/completions/llmcalc"};
  command.positionals = {{.name = "SHELL", .help = "the shell", .choices = {"bash", "zsh", "fish"}}};
  command.run = [](const Arguments& arguments, Output& output) {
    const std::string shell = arguments.get("SHELL").value_or("bash");
    output.out = shell == "bash" ? bash() : shell == "zsh" ? zsh() : fish();
    return Exit::done;
  };
  return command;
}

}  // namespace llmcalc::cli
