// `llmcalc check MODEL MEASURED`: is the estimate true? Predicted against measured, operation by operation.
#include "cli/all_commands.hpp"
#include "cli/model_argument.hpp"
#include "cli/run_options.hpp"
#include "core/check.hpp"
#include "core/quantity.hpp"
#include "report/check.hpp"

namespace llmcalc::cli {

namespace {

Exit run(const Arguments& arguments, Output& output) {
  std::optional<double> tolerance;
  if (const auto given = arguments.get("tolerance")) {
    const Parsed<double> parsed = parse_fraction(*given);
    if (!parsed) throw Error(Exit::bad_input, "--tolerance: " + parsed.message, "a share, such as 0.15 or 15%");
    tolerance = *parsed;
    if (*tolerance > 1 && given->find('%') == std::string::npos)
      throw Error(Exit::bad_input, "--tolerance: " + *given + " allows an error of " + format_percent(*tolerance),
                  "15 % is 0.15 or 15%; larger ones than 1 with their %");
  }
  Arguments with_device = arguments;
  with_device.values["DEVICE"] = arguments.all("MEASURED");
  const JobArguments job = job_from(with_device, output);
  const CheckReport report = check_estimate(job.model, *job.device, job.options);
  switch (output.format) {
    case Format::json: output.out = report::check_json(report).dump(); break;
    case Format::csv: output.out = report::csv_table(report::check_table(report)); break;
    case Format::markdown: output.out = report::check_text(report, true, false); break;
    case Format::text: output.out = report::check_text(report, false, output.style()); break;
  }
  const auto warn = [&](std::string message, std::string hint) {
    output.warnings.push_back({Severity::warning, {}, std::move(message), std::move(hint)});
  };
  const auto measured_job = job.device->measured_method.find("step");
  if (measured_job != job.device->measured_method.end() && measured_job->second != report.job)
    warn(job.device->source + " was measured for " + measured_job->second + "; this is " + report.job,
         "only operations that both have are compared");
  bool failed = false;
  if (report.covered < least_coverage) {
    warn("only " + format_percent(report.covered) + " of the step's time was measured, and " +
             format_percent(least_coverage) + " is the least that says something",
         "llmcalc measure --model " + arguments.get("MODEL").value_or("MODEL") +
             " with the same run options, without --quick");
    failed = true;
  }
  // Written so that an error that is no number fails.
  if (tolerance && !(report.median_error && *report.median_error <= *tolerance)) {
    warn("the median error is " + (report.median_error ? format_percent(*report.median_error) : "not known") +
             ", and --tolerance allows " + format_percent(*tolerance),
         "");
    failed = true;
  }
  return failed ? Exit::check_failed : Exit::done;
}

}  // namespace

Command check_command() {
  Command command;
  command.name = "check";
  command.summary = "estimate against measurement, operation by operation";
  command.description =
      "Predicts every operation of the model's step from what `llmcalc measure` found for squares, sweeps, copies and "
      "attention, and holds it against what the same run found for the model's own shapes.\n\n"
      "Exit 1 when less than half of the step's time was measured, or the median error exceeds --tolerance.";
  command.examples = {"llmcalc check gpt2 cpu.yaml --seq 256 --precision fp32",
                      "llmcalc check gpt2 cpu.yaml --seq 256 --precision fp32 --tolerance 25% --format json"};
  command.positionals = {model_positional(),
                         {.name = "MEASURED", .help = "a profile that `llmcalc measure --model MODEL` wrote"}};
  take_run_options(command, not_of_one_step(),
                   "a step is measured as it runs on one device; `llmcalc estimate` takes it");
  command.options.push_back({.name = "tolerance",
                             .value = "X",
                             .help = "exit 1 when the median error is larger: 0.15, 15%",
                             .group = "The verdict"});
  command.run = run;
  return command;
}

}  // namespace llmcalc::cli
