// `llmcalc mfu MODEL DEVICE`: MFU and HFU of a run that was timed, and the same arithmetic backwards.
#include "cli/all_commands.hpp"
#include "cli/model_argument.hpp"
#include "cli/run_options.hpp"
#include "core/quantity.hpp"
#include "core/suggest.hpp"
#include "report/mfu.hpp"

namespace llmcalc::cli {

namespace {

const std::vector<std::string>& questions() {
  static const std::vector<std::string> names{"tokens-per-second", "step-time", "days", "budget", "deadline"};
  return names;
}

// The one question that was asked.
std::string question(const Arguments& arguments) {
  std::vector<std::string> given;
  for (const std::string& name : questions())
    if (arguments.has(name)) given.push_back("--" + name);
  if (given.size() == 1) return given.front().substr(2);
  std::vector<std::string> all;
  for (const std::string& name : questions()) all.push_back("--" + name);
  throw Error(Exit::usage,
              given.empty() ? "`llmcalc mfu` needs what was observed: one of " + join(all, "or")
                            : join(given) + " are different questions: ask one",
              "llmcalc mfu llama-3-8b h100-sxm --tokens-per-second 8000");
}

template <class T>
T above_zero(const std::string& option, const std::string& text, const Parsed<T>& parsed) {
  if (!parsed) throw Error(Exit::bad_input, "--" + option + ": " + parsed.message, parsed.hint);
  if (!(*parsed > T{})) throw Error(Exit::bad_input, "--" + option + ": " + in_quotes(text) + " has to be above 0");
  return *parsed;
}

// Dollars, days, tokens per second: bare numbers, 12k and 1e4 too.
double plain_number(const std::string& option, const std::string& text) {
  const Parsed<double> number = parse_number(text);
  if (number) return above_zero(option, text, number);
  const Parsed<Count> count = parse_count(text);
  if (count) return static_cast<double>(above_zero(option, text, count));
  throw Error(Exit::bad_input, "--" + option + ": " + number.message, number.hint);
}

Observed observed_as(const std::string& option, const std::string& text) {
  Observed observed;
  if (option == "step-time") {
    observed.step = above_zero(option, text, parse_duration(text));
  } else if (option == "days") {
    observed.days = plain_number(option, text);
  } else {
    observed.tokens_per_second = plain_number(option, text);
  }
  return observed;
}

void write(const report::Json& json, const report::Page& page, Output& output) {
  switch (output.format) {
    case Format::json: output.out = json.dump(); break;
    case Format::csv: output.out = json.flat_csv(); break;
    case Format::markdown: output.out = page.as_markdown(); break;
    case Format::text: output.out = page.as_text(output.style()); break;
  }
}

Exit run(const Arguments& arguments, Output& output) {
  const std::string asked = question(arguments);
  const std::string text = *arguments.get(asked);
  const bool plans = asked == "budget" || asked == "deadline";
  const double amount = plans ? plain_number(asked, text) : 0;
  const Observed observed = plans ? Observed{} : observed_as(asked, text);
  const JobArguments job = job_from(arguments, output);
  if (!plans && arguments.has("mfu"))
    throw Error(Exit::usage, "--mfu is what --" + asked + " is asked for", "leave out one of them");
  if (!plans && arguments.has("price"))
    throw Error(Exit::usage, "--price has no effect on an MFU", "--budget and --deadline take it");
  if (!plans) {
    const UtilizationReport report = utilization(job.model, *job.device, job.options, observed);
    report::Page page = report::utilization_page(report);
    if (output.explain) report::explain_utilization(report, page);
    write(report::utilization_json(report), page, output);
    return Exit::done;
  }
  const PlanReport plan = asked == "budget" ? tokens_for_budget(job.model, *job.device, job.options, amount)
                                            : devices_for_deadline(job.model, *job.device, job.options, amount);
  report::Page page = report::plan_page(plan);
  if (output.explain) report::explain_plan(plan, page);
  write(report::plan_json(plan), page, output);
  return Exit::done;
}

}  // namespace

Command mfu_command() {
  Command command;
  command.name = "mfu";
  command.summary = "MFU and HFU of a run that was timed, and where other answers come from";
  command.description =
      "From tokens per second, the time of a step or the days of a whole run: the share of the device's dense peak "
      "that the model's FLOPs, and those executed, come to; what other conventions and common mistakes would make of "
      "the same run; what the rest of the step went into.\n\n"
      "--budget and --deadline turn it round: tokens for so many dollars, devices for so many days.";
  command.examples = {"llmcalc mfu llama-3-8b h100-sxm --seq 8192 --tokens-per-second 7000",
                      "llmcalc mfu llama-2-70b a100-sxm-80gb --gpus 2048 --tokens 2T --days 35",
                      "llmcalc mfu llama-3-8b h100-sxm --seq 8192 --gpus 64 --budget 100000"};
  command.positionals = {model_positional(), device_positional(true)};
  command.options = {
      {.name = "tokens-per-second", .value = "X", .help = "of all devices together", .group = "What is known"},
      {.name = "step-time", .value = "S", .help = "of one optimizer step: 250ms, 12.5s", .group = "What is known"},
      {.name = "days", .value = "D", .help = "of the whole training of --tokens", .group = "What is known"},
      {.name = "budget", .value = "X", .help = "dollars: how many tokens do they buy?", .group = "What is known"},
      {.name = "deadline", .value = "D", .help = "days: how many devices do --tokens take?", .group = "What is known"}};
  take_run_options(command, {"require-fit", "expandable-segments"},
                   "mfu does not ask about memory; `llmcalc estimate` does");
  command.explains = true;
  command.run = run;
  return command;
}

}  // namespace llmcalc::cli
