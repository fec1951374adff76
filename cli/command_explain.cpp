// `llmcalc explain SIZE MODEL`: which tensors are this big.
#include <algorithm>
#include <cmath>

#include "cli/all_commands.hpp"
#include "cli/model_argument.hpp"
#include "cli/run_options.hpp"
#include "core/quantity.hpp"
#include "core/resolve.hpp"
#include "core/size_search.hpp"
#include "report/size_search.hpp"

namespace llmcalc::cli {

namespace {

constexpr std::size_t kMostAnswers = 12;

// Half a unit in the last place that was written, relative: 0 for whole numbers, 0.0007 for "7.00 GiB".
double rounding_of(const std::string& text) {
  const std::size_t point = text.find('.');
  if (point == std::string::npos) return 0;
  const std::size_t end = std::min(text.find_first_not_of("0123456789", point + 1), text.size());
  const double value = std::stod(text.substr(0, end));
  return value > 0 ? 0.5 * std::pow(10.0, -static_cast<double>(end - point - 1)) / value : 0;
}

Exit run(const Arguments& arguments, Output& output) {
  const std::string asked = arguments.get("SIZE").value_or("");
  const Parsed<Bytes> size = parse_bytes(asked);
  if (!size) throw Error(Exit::bad_input, size.message, size.hint);
  if (*size <= Bytes(0)) throw Error(Exit::bad_input, "SIZE must be above 0");
  const JobArguments job = job_from(arguments, output);
  if (!job.model.model) {
    throw Error(Exit::bad_input,
                job.model.source + ": the profile gives the size of the model alone, which has no tensors",
                "describe the model by its architecture, as the built-in profiles do");
  }
  const Resolved resolved = resolve(job.options, job.model, nullptr);
  if (resolved.plan.infers)
    throw Error(Exit::bad_input, "explain looks among the tensors of a training step, not of --mode infer");
  const double tolerance = rounding_of(asked);
  const SizeAnswer answer = find_size(*size, tolerance, *job.model.model, resolved.plan, kMostAnswers);
  std::vector<SizeElsewhere> elsewhere;
  constexpr std::size_t elsewhere_shown = 3;
  const bool is_single = std::any_of(answer.matches.begin(), answer.matches.end(), [](const SizeMatch& match) {
    return match.tensors.size() == 1 && match.tensors.front().count == 1;
  });
  if (answer.near || !is_single)
    elsewhere = find_size_elsewhere(*size, tolerance, job.model, job.options, elsewhere_shown);
  if (output.format == Format::json || output.format == Format::csv) {
    const report::Json json = report::size_json(asked, *size, tolerance, answer, elsewhere);
    output.out = output.format == Format::json ? json.dump() : json.flat_csv();
    return Exit::done;
  }
  const report::Page page = report::size_page(job.model.name, asked, *size, tolerance, answer, elsewhere);
  output.out = output.format == Format::markdown ? page.as_markdown() : page.as_text(output.style());
  return Exit::done;
}

}  // namespace

Command explain_command() {
  Command command;
  command.name = "explain";
  command.summary = "which tensors of a job are this big";
  command.description =
      "Looks for a size, such as the one an allocator could not serve, among the tensors of one training step: single "
      "tensors, one of each layer together, sums of two and three. A figure written with a point is taken as rounded "
      "to its last digit, others as exact.";
  command.examples = {"llmcalc explain 501MiB llama-3-8b --seq 2048",
                      "llmcalc explain 896.00MiB my-model/config.json --attention eager"};
  command.positionals = {{.name = "SIZE", .help = "bytes with their unit: 896MiB, \"3.91 GiB\""}, model_positional()};
  take_run_options(command, not_of_one_step(),
                   "explain looks among the tensors of one device; `llmcalc estimate` takes it");
  command.run = run;
  return command;
}

}  // namespace llmcalc::cli
