// `llmcalc params MODEL`: parameter counts by part.
#include "cli/all_commands.hpp"
#include "cli/model_argument.hpp"
#include "report/params.hpp"

namespace llmcalc::cli {

namespace {

Exit run(const Arguments& arguments, Output& output) {
  const ModelSource source = model_from(arguments, output);
  if (!source.model) {
    throw Error(Exit::bad_input, source.source + ": the profile gives the size of the model alone, which has no parts",
                "describe the model by its architecture, as the built-in profiles do");
  }
  const report::ModelLabel label{source.name, source.source, std::string(source.architecture->name),
                                 std::string(name_of(source.architecture->status))};
  if (arguments.has("mtp")) check_prediction(source);
  const Parameters& parameters = arguments.has("mtp") ? *source.model->with_prediction : source.model->parameters;
  const bool tensors = arguments.has("tensors");
  switch (output.format) {
    case Format::json: output.out = report::params_json(label, parameters, tensors).dump(); break;
    case Format::csv:
      output.out = report::csv_table(tensors ? report::tensors_table(parameters) : report::parts_table(parameters));
      break;
    case Format::markdown: output.out = report::params_text(label, parameters, tensors, true, false); break;
    case Format::text: output.out = report::params_text(label, parameters, tensors, false, output.colour); break;
  }
  return Exit::done;
}

}  // namespace

Command params_command() {
  Command command;
  command.name = "params";
  command.summary = "parameter counts by part";
  command.description =
      "Counts every tensor of the model: in all, active per token, those that take part in matrix multiplications, and "
      "by kind of layer.";
  command.examples = {"llmcalc params llama-3-8b", "llmcalc params gpt2 --tensors --format csv"};
  command.positionals = {model_positional()};
  command.options = {{.name = "tensors", .help = "list every tensor with its shape"},
                     {.name = "mtp", .help = "build multi-token-prediction heads"},
                     {.name = "as",
                      .value = "FAMILY",
                      .help = "read an unknown model_type as this family (llmcalc list architectures)"}};
  command.run = run;
  return command;
}

}  // namespace llmcalc::cli
