// `llmcalc estimate MODEL [DEVICE]`: what one job costs, whether it fits and how long it takes.
#include "cli/all_commands.hpp"
#include "cli/model_argument.hpp"
#include "cli/run_options.hpp"
#include "core/estimate.hpp"
#include "report/estimate.hpp"

namespace llmcalc::cli {

namespace {

void write(const Report& report, Output& output) {
  if (output.format == Format::json || output.format == Format::csv) {
    const report::Json json = report::estimate_json(report);
    output.out = output.format == Format::json ? json.dump() : json.flat_csv();
    return;
  }
  report::Page page = report::estimate_page(report, output.width);
  if (output.explain) report::explain_estimate(report, page);
  output.out = output.format == Format::markdown ? page.as_markdown() : page.as_text(output.style());
}

Exit run(const Arguments& arguments, Output& output) {
  const JobArguments job = job_from(arguments, output);
  const Report report = estimate(job.model, job.device ? &*job.device : nullptr, job.options);
  if (job.options.require_fit && !report.fit) {
    if (job.device && report.size_only && job.device->usable_memory() > Bytes(0))
      throw Error(Exit::bad_input,
                  "--require-fit: weights and states fit, and of a model known only by its size nobody knows the rest",
                  "describe the model by its architecture, as the built-in profiles do");
    throw Error(Exit::usage, "--require-fit: there is no device whose memory is known",
                "name a DEVICE, as in the examples of --help");
  }
  write(report, output);
  const bool failed = job.options.require_fit && report.fit->verdict == Verdict::no;
  return failed ? Exit::check_failed : Exit::done;
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
  command.positionals = {model_positional(), device_positional(false)};
  take_run_options(command);
  command.explains = true;
  command.run = run;
  return command;
}

}  // namespace llmcalc::cli
