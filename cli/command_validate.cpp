// `llmcalc validate FILE...`: every problem of every file, in one run.
#include "cli/all_commands.hpp"
#include "cli/output_table.hpp"
#include "core/model_source.hpp"
#include "core/peaks.hpp"
#include "core/resolve.hpp"
#include "read/device.hpp"
#include "read/load.hpp"
#include "read/node.hpp"
#include "read/schema.hpp"

namespace llmcalc::cli {

namespace {

// What kind of profile it is, after checking it; problems go to `diagnostics`, a device that could be read to
// `devices`.
std::string check(const std::string& path, std::vector<Device>& devices, Diagnostics& diagnostics) {
  const Document document = load_file(path);
  const std::string schema = schema_of(document.root);
  if (schema == device_schema) {
    const Device device = read_device(document.root, path, diagnostics, Purpose::validate);
    if (!diagnostics.has_errors()) devices.push_back(device);
    return "device";
  }
  if (schema == node_schema) {
    check_node(document.root, diagnostics);
    return "node";
  }
  const Document profile = load_model_document(path, diagnostics);
  const Value* job = profile.root.find("run");
  const RunOptions options = job == nullptr ? RunOptions{} : read_run_options(*job, diagnostics);
  const ModelSource model =
      read_model(profile.root, profile.source, profile.yaml, profile.id, options.as_family, diagnostics);
  if (job != nullptr) resolve(options, model, nullptr);  // names and values that do not go together
  return "model";
}

Exit run(const Arguments& arguments, Output& output) {
  std::vector<Diagnostic> errors;
  std::vector<Device> devices;
  report::Table table{{{"file"}, {"kind"}, {"result"}}, {}};
  const auto keep = [&](const Diagnostics& diagnostics) {
    for (const Diagnostic& diagnostic : diagnostics.all()) {
      (diagnostic.severity == Severity::error ? errors : output.warnings).push_back(diagnostic);
    }
  };
  for (const std::string& path : arguments.all("FILE")) {
    Diagnostics diagnostics;
    std::string kind;
    try {
      kind = check(path, devices, diagnostics);
      keep(diagnostics);
    } catch (const Error& error) {  // what ended the reading, with what was found before
      errors.insert(errors.end(), error.diagnostics().begin(), error.diagnostics().end());
    }
    table.rows.push_back({path, kind, diagnostics.all().empty() ? "good" : "good, with warnings"});
  }
  Diagnostics between_files;
  validate_names(devices, between_files);
  keep(between_files);
  if (!errors.empty()) throw Error(Exit::bad_input, errors);
  write_table("validate", table, output);
  return Exit::done;
}

}  // namespace

Command validate_command() {
  Command command;
  command.name = "validate";
  command.summary = "check profiles of models, devices and nodes; every problem with its line";
  command.description = "Reads each file as estimate would, and reports everything that is wrong or doubtful in it.";
  command.examples = {"llmcalc validate my-model.yaml my-gpu.yaml"};
  command.positionals = {{.name = "FILE", .help = "a profile (YAML), or a config.json", .repeated = true}};
  command.run = run;
  return command;
}

}  // namespace llmcalc::cli
