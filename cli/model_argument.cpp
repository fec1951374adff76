#include "cli/model_argument.hpp"

#include <exception>
#include <functional>

#include "cli/run_options.hpp"
#include "read/load.hpp"

namespace llmcalc::cli {

namespace {

// Runs one step of reading; its problems are kept, so that the next step's are reported as well.
void attempt(std::vector<Diagnostic>& errors, const std::function<void()>& step) {
  try {
    step();
  } catch (const Error& error) {
    errors.insert(errors.end(), error.diagnostics().begin(), error.diagnostics().end());
  }
}

void keep_warnings(const Diagnostics& diagnostics, Output& output) {
  for (const Diagnostic& diagnostic : diagnostics.all()) {
    if (diagnostic.severity == Severity::warning) output.warnings.push_back(diagnostic);
  }
}

ModelSource read(const Document& document, const std::optional<std::string>& family, Diagnostics& diagnostics) {
  return read_model(document.root, document.source, document.yaml, document.id, family, diagnostics);
}

}  // namespace

JobArguments job_from(const Arguments& arguments, Output& output) {
  JobArguments job;
  std::vector<Diagnostic> errors;
  Diagnostics of_model, of_device;
  std::optional<Document> document;
  attempt(errors, [&] { document = load_model_document(arguments.get("MODEL").value_or(""), of_model); });
  attempt(errors, [&] { job.options = run_options_from(arguments, document ? &document->root : nullptr, output); });
  if (document) attempt(errors, [&] { job.model = read(*document, job.options.as_family, of_model); });
  const std::optional<std::string> device = arguments.get("DEVICE");
  if (device) attempt(errors, [&] { job.device = load_device(*device, of_device); });
  if (!errors.empty()) throw Error(Exit::bad_input, errors);
  keep_warnings(of_model, output);
  keep_warnings(of_device, output);
  return job;
}

ModelSource model_from(const Arguments& arguments, Output& output) {
  Diagnostics diagnostics;
  const Document document = load_model_document(arguments.get("MODEL").value_or(""), diagnostics);
  ModelSource model = read(document, arguments.get("as"), diagnostics);
  keep_warnings(diagnostics, output);
  return model;
}

Positional model_positional() {
  return {.name = "MODEL",
          .help = "a YAML profile, a config.json, a folder holding one, or a built-in id (llmcalc list models)"};
}

Positional device_positional(bool required) {
  return {.name = "DEVICE",
          .help = "a YAML profile, a built-in id, or the name the driver reports (llmcalc list devices)",
          .required = required};
}

}  // namespace llmcalc::cli
