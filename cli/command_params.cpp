// `llmcalc params MODEL`: parameter counts by part.
#include "cli/all_commands.hpp"
#include "read/load.hpp"

namespace llmcalc::cli {

namespace {

Exit run(const Arguments& arguments, Output& output) {
  Diagnostics diagnostics;
  const Document model = load_model_document(*arguments.get("MODEL"), diagnostics);
  output.warnings.insert(output.warnings.end(), diagnostics.all().begin(), diagnostics.all().end());
  throw Error(Exit::internal, "params is not connected yet");
}

}  // namespace

Command params_command() {
  Command command;
  command.name = "params";
  command.summary = "parameter counts by part";
  command.description =
      "Counts every tensor of the model: in all, active per token, those that take part in matrix multiplications, and "
      "by kind of layer.";
  command.examples = {"llmcalc params llama-3-8b", "llmcalc params deepseek-v3-671b --tensors"};
  command.positionals = {
      {.name = "MODEL",
       .help = "a YAML profile, a config.json, a folder holding one, or a built-in id (llmcalc list models)"}};
  command.options = {{.name = "tensors", .help = "list every tensor with its shape"}};
  command.run = run;
  return command;
}

}  // namespace llmcalc::cli
