// `llmcalc list WHAT`: what is built in, one table each.
#include "cli/all_commands.hpp"
#include "cli/lists.hpp"
#include "cli/output_table.hpp"

namespace llmcalc::cli {

Command list_command() {
  Command command;
  command.name = "list";
  command.summary = "models, devices, architectures, optimizers, precisions, rules";
  command.description =
      "Lists what is built in and can be named on the command line. Files of your own work in the same places: see "
      "docs/reference. Models come with their parameters, those active per token, layers and longest context; CSV and "
      "JSON have all counts in full, and each model's name and source.";
  command.examples = {"llmcalc list devices", "llmcalc list models --format csv"};
  std::vector<std::string> what;
  for (const List& list : lists()) what.emplace_back(list.name);
  command.positionals = {{.name = "WHAT", .help = "what to list", .choices = what}};
  command.run = [](const Arguments& arguments, Output& output) {
    const std::string name = *arguments.get("WHAT");
    const bool for_data = output.format == Format::csv || output.format == Format::json;
    for (const List& list : lists()) {
      if (name == list.name) write_table(name, list.make(for_data), output);
    }
    return Exit::done;
  };
  return command;
}

}  // namespace llmcalc::cli
