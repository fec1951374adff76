// `llmcalc compare MODEL DEVICE DEVICE...`: one job on several devices, side by side.
#include "cli/all_commands.hpp"
#include "cli/model_argument.hpp"
#include "cli/run_options.hpp"
#include "core/estimate.hpp"
#include "core/training.hpp"
#include "read/load.hpp"
#include "report/compare.hpp"

namespace llmcalc::cli {

namespace {

// All of them, or the problems of all that cannot be loaded.
std::vector<Device> devices_from(const Arguments& arguments, std::vector<Diagnostic>& errors, Output& output) {
  std::vector<Device> devices;
  for (const std::string& name : arguments.all("DEVICE")) {
    Diagnostics problems;
    try {
      devices.push_back(load_device(name, problems));
      output.warnings.insert(output.warnings.end(), problems.all().begin(), problems.all().end());
    } catch (const Error& error) {
      errors.insert(errors.end(), error.diagnostics().begin(), error.diagnostics().end());
    }
  }
  return devices;
}

Exit run(const Arguments& arguments, Output& output) {
  std::vector<Diagnostic> errors;
  const std::vector<Device> devices = devices_from(arguments, errors, output);
  Arguments without_device = arguments;
  without_device.values.erase("DEVICE");
  std::optional<JobArguments> job;
  try {
    job = job_from(without_device, output);
  } catch (const Error& error) {
    errors.insert(errors.end(), error.diagnostics().begin(), error.diagnostics().end());
  }
  if (!errors.empty()) throw Error(Exit::bad_input, errors);
  std::vector<report::Compared> rows;
  for (const Device& device : devices) {
    report::Compared row{&device, estimate(job->model, &device, job->options), {}};
    row.usd_per_hour = price_per_hour(row.report.run, device);
    rows.push_back(std::move(row));
  }
  report::sort_compared(rows, arguments.get("sort").value_or(report::sort_names().front()));
  switch (output.format) {
    case Format::json: output.out = report::compare_json(rows).dump(); break;
    case Format::csv: output.out = report::csv_table(report::compare_table(rows)); break;
    case Format::markdown:
    case Format::text: {
      report::Page page = report::compare_page(rows);
      if (output.explain) report::explain_compare(rows, page);
      output.out = output.format == Format::text ? page.as_text(output.style()) : page.as_markdown();
    }
  }
  bool any_fits = false;
  for (const report::Compared& row : rows) any_fits = any_fits || (row.report.fit && !row.does_not_fit());
  return job->options.require_fit && !any_fits ? Exit::check_failed : Exit::done;
}

}  // namespace

Command compare_command() {
  Command command;
  command.name = "compare";
  command.summary = "one job on several devices, side by side";
  command.description =
      "Whether the job fits, how long a step takes, MFU, and tokens per second, dollar and joule. With --require-fit "
      "it ends with 1 when the job fits none of them.";
  command.examples = {
      "llmcalc compare llama-3-8b a100-sxm-80gb h100-sxm h200 --seq 8192 --recompute full",
      "llmcalc compare gpt2 t4 rtx-4090 a100-sxm-40gb --batch 8 --sort tokens-per-dollar --format markdown"};
  Positional devices = device_positional(true);
  devices.repeated = true;
  command.positionals = {model_positional(), devices};
  command.options = {{.name = "sort",
                      .value = "KEY",
                      .help = "what the best device is best in",
                      .shown_default = "tokens-per-second",
                      .choices = report::sort_names(),
                      .group = "Comparison"}};
  take_run_options(command);
  command.explains = true;
  command.run = run;
  return command;
}

}  // namespace llmcalc::cli
