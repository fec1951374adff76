// `llmcalc estimate MODEL [DEVICE]`: what one job costs, whether it fits and how long it takes.
#include "cli/all_commands.hpp"
#include "cli/run_options.hpp"
#include "read/load.hpp"

namespace llmcalc::cli {

namespace {

Exit run(const Arguments& arguments, Output& output) {
  Diagnostics diagnostics;
  const Document model = load_model_document(*arguments.get("MODEL"), diagnostics);
  std::optional<Device> device;
  if (const std::optional<std::string> name = arguments.get("DEVICE")) device = load_device(*name, diagnostics);
  diagnostics.throw_if_errors();
  output.warnings.insert(output.warnings.end(), diagnostics.all().begin(), diagnostics.all().end());
  const RunOptions options = run_options_from(arguments, &model.root, output);
  throw Error(Exit::internal, "estimate is not connected yet");
}

}  // namespace

Command estimate_command() {
  Command command;
  command.name = "estimate";
  command.summary = "parameters, FLOPs, memory, fit, time and cost of one training or inference job";
  command.description =
      "Shows for each quantity the rule of thumb beside the exact count, and why they differ. Without a DEVICE, fit, "
      "time and cost are left out.";
  command.examples = {"llmcalc estimate llama-3-8b h100-sxm",
                      "llmcalc estimate llama-3-8b h100-sxm --batch 2 --seq 8192 --recompute full",
                      "llmcalc estimate my-model/config.json a100-sxm-80gb --tokens 15T --gpus 512 --format json"};
  command.positionals = {
      {.name = "MODEL",
       .help = "a YAML profile, a config.json, a folder holding one, or a built-in id (llmcalc list models)"},
      {.name = "DEVICE",
       .help = "a YAML profile, a built-in id, or the name the driver reports (llmcalc list devices)",
       .required = false}};
  command.options = run_option_definitions();
  command.run = run;
  return command;
}

}  // namespace llmcalc::cli
