// `llmcalc params MODEL`: parameter counts by part; beside weights, what is in their files and how it compares.
#include <filesystem>
#include <optional>

#include "cli/all_commands.hpp"
#include "cli/model_argument.hpp"
#include "cli/output_table.hpp"
#include "read/checkpoint.hpp"
#include "report/checkpoint.hpp"
#include "report/params.hpp"

namespace llmcalc::cli {

namespace {

namespace fs = std::filesystem;

// What MODEL names: a description of a model, the files with its weights, or both.
struct Named {
  std::optional<ModelSource> model;
  std::optional<Checkpoint> checkpoint;
};

Named read(const Arguments& arguments, Output& output) {
  const std::string path = arguments.get("MODEL").value_or("");
  std::error_code ignored;
  const bool folder = fs::is_directory(path, ignored), weights = !folder && is_checkpoint_file(path);
  Named named;
  if (folder || (weights && fs::exists(path, ignored))) named.checkpoint = load_checkpoint(path);
  // The configuration that describes a file of weights lies beside it.
  const fs::path config = (folder ? fs::path(path) : fs::path(path).parent_path()) / "config.json";
  if (named.checkpoint && !fs::exists(config, ignored)) return named;
  Arguments of_model = arguments;
  if (named.checkpoint) of_model.values["MODEL"] = {config.string()};
  named.model = model_from(of_model, output);
  return named;
}

void require_parts(const ModelSource& source) {
  if (source.model) return;
  throw Error(Exit::bad_input, source.source + ": the profile gives the size of the model alone, which has no parts",
              "describe the model by its architecture, as the built-in profiles do");
}

// The count, and where there are weights the comparison.
Exit count(const ModelSource& source, const std::optional<Checkpoint>& checkpoint, const Arguments& arguments,
           Output& output) {
  require_parts(source);
  const report::ModelLabel label{source.name, source.source, std::string(source.architecture->name),
                                 std::string(name_of(source.architecture->status))};
  if (arguments.has("mtp")) check_prediction(source);
  const Parameters& parameters = arguments.has("mtp") ? *source.model->with_prediction : source.model->parameters;
  const bool tensors = arguments.has("tensors");
  std::optional<CheckpointMatch> match;
  if (checkpoint) match = match_checkpoint(parameters, *checkpoint, source.stored);
  const bool markdown = output.format == Format::markdown;
  switch (output.format) {
    case Format::json: {
      report::Json json = report::params_json(label, parameters, tensors);
      if (match) json.set("checkpoint", report::checkpoint_json(*checkpoint, *match, true));
      if (!source.reading.empty()) json.set("scope", source.reading);
      output.out = json.dump();
      break;
    }
    case Format::csv:
      output.out = report::csv_table(tensors ? report::tensors_table(parameters) : report::parts_table(parameters));
      break;
    case Format::markdown:
    case Format::text:
      output.out = report::params_text(label, parameters, tensors, markdown, output.style());
      if (output.explain) output.out += report::explain_params(label, parameters, markdown, output.style());
      for (const std::string& line : source.reading) output.out += "\nscope: " + line + "\n";
      if (match) output.out += "\n" + report::checkpoint_text(*checkpoint, *match, true, markdown, output.style());
      break;
  }
  return match && !match->agrees() ? Exit::check_failed : Exit::done;
}

// Weights without a description: nothing to compare them with.
Exit describe(const Checkpoint& checkpoint, bool tensors, const std::string& path, Output& output) {
  const CheckpointMatch match = describe_checkpoint(checkpoint);
  const report::Table all = report::stored_table(checkpoint);
  switch (output.format) {
    case Format::json: {
      report::Json json =
          report::Json::object()
              .set("schema", "llmcalc.params/1")
              .set("model", report::Json::object().set("name", checkpoint.files.front()).set("source", path))
              .set("checkpoint", report::checkpoint_json(checkpoint, match, false));
      if (tensors) json.set("stored_tensors", report::json_table(all));
      output.out = json.dump();
      break;
    }
    case Format::csv: output.out = report::csv_table(all); break;
    case Format::markdown:
    case Format::text: {
      const bool markdown = output.format == Format::markdown;
      output.out = report::checkpoint_text(checkpoint, match, false, markdown, output.style());
      if (tensors)
        output.out +=
            "\n" + (markdown ? report::markdown_table(all) : report::text_table(all, output.colour, output.width));
      output.out += "\nNo config.json beside it: nothing to compare it with.\n";
      break;
    }
  }
  return Exit::done;
}

Exit run(const Arguments& arguments, Output& output) {
  const Named named = read(arguments, output);
  if (named.model) return count(*named.model, named.checkpoint, arguments, output);
  return describe(*named.checkpoint, arguments.has("tensors"), arguments.get("MODEL").value_or(""), output);
}

}  // namespace

Command params_command() {
  Command command;
  command.name = "params";
  command.summary = "parameter counts by part";
  command.description =
      "Counts every tensor of the model: in all, active per token, those that take part in matrix multiplications, and "
      "by kind of layer.\n\n"
      "Where MODEL is a folder with *.safetensors or GGUF files beside its config.json, or one such file, their "
      "headers are compared with the count: names, shapes, types and bytes. The weights themselves are never read. "
      "The exit code is 1 when a tensor is missing, unexpected or of another shape.";
  command.examples = {"llmcalc params llama-3-8b", "llmcalc params gpt2 --tensors --format csv",
                      "llmcalc params my-model"};
  command.positionals = {model_positional()};
  command.options = {{.name = "tensors", .help = "list every tensor with its shape"},
                     {.name = "mtp", .help = "build multi-token-prediction heads"},
                     {.name = "as",
                      .value = "FAMILY",
                      .help = "read an unknown model_type as this family (llmcalc list architectures)"}};
  command.explains = true;
  command.run = run;
  return command;
}

}  // namespace llmcalc::cli
