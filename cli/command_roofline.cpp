// `llmcalc roofline [MODEL] DEVICE`: ceilings, ridge points, and the operations of a step under them.
#include <algorithm>

#include "cli/all_commands.hpp"
#include "cli/gnuplot.hpp"
#include "cli/model_argument.hpp"
#include "cli/run_options.hpp"
#include "core/quantity.hpp"
#include "core/suggest.hpp"
#include "read/load.hpp"
#include "report/plot.hpp"
#include "report/roofline.hpp"

namespace llmcalc::cli {

namespace {

// A rate above zero from an option, or a problem in the list.
template <class Rate>
std::optional<Rate> rate_of(const Arguments& arguments, const char* option, Parsed<Rate> (*parse)(std::string_view),
                            Diagnostics& problems) {
  const std::optional<std::string> text = arguments.get(option);
  if (!text) return std::nullopt;
  const Parsed<Rate> parsed = parse(*text);
  Place place;
  place.key = std::string("--") + option;
  if (!parsed) {
    problems.error(place, parsed.message, parsed.hint);
    return std::nullopt;
  }
  if (!(*parsed > Rate(0))) {
    problems.error(place, in_quotes(*text) + " has to be above 0");
    return std::nullopt;
  }
  return *parsed;
}

// With --peak and --bandwidth: no device, one question.
void answer_question(const Arguments& arguments, Output& output) {
  if (arguments.has("DEVICE") || arguments.has("MODEL"))
    throw Error(Exit::usage, "--peak and --bandwidth stand in for a DEVICE", "give one or the other");
  if (arguments.has("plot")) throw Error(Exit::usage, "--plot draws a DEVICE's roofline, not a single question");
  for (const char* option : {"peak", "bandwidth"}) {
    if (!arguments.has(option))
      throw Error(Exit::usage, std::string("--") + option + " is needed too",
                  "llmcalc roofline --peak 100TFLOP/s --bandwidth 1TB/s --intensity 20");
  }
  Diagnostics problems;
  const auto peak = rate_of<FlopsPerSecond>(arguments, "peak", parse_flop_rate, problems);
  const auto bandwidth = rate_of<BytesPerSecond>(arguments, "bandwidth", parse_byte_rate, problems);
  const auto intensity = rate_of<FlopsPerByte>(arguments, "intensity", parse_intensity, problems);
  problems.throw_if_errors();
  const report::RooflineQuestion question{*peak, *bandwidth, intensity};
  switch (output.format) {
    case Format::json: output.out = report::point_json(question).dump(); break;
    case Format::csv: output.out = report::point_json(question).flat_csv(); break;
    case Format::markdown:
    case Format::text: {
      report::Page page = report::point_page(question);
      if (output.explain) report::explain_point(question, page);
      output.out = output.format == Format::text ? page.as_text(output.style()) : page.as_markdown();
    }
  }
}

RooflineReport asked_for(const Arguments& arguments, Output& output) {
  if (arguments.has("MODEL")) {
    const JobArguments job = job_from(arguments, output);
    return job_roofline(job.model, *job.device, job.options);
  }
  Diagnostics problems;
  const Device device = load_device(*arguments.get("DEVICE"), problems);
  for (const Diagnostic& warning : problems.all()) output.warnings.push_back(warning);
  return device_roofline(device);
}

void write(const RooflineReport& report, Output& output) {
  switch (output.format) {
    case Format::json: output.out += report::roofline_json(report).dump(); break;
    case Format::csv:
      output.out +=
          report::csv_table(report.step ? report::operations_table(report, 0) : report::ceilings_table(report));
      break;
    case Format::markdown:
    case Format::text: {
      report::Page page = report::roofline_page(report);
      if (output.explain) report::explain_roofline(report, page);
      output.out += output.format == Format::text ? page.as_text(output.style()) : page.as_markdown();
    }
  }
}

void plot(const RooflineReport& report, const std::string& file, Output& output) {
  const report::PlotForm form = plot_form(file);
  if (form == report::PlotForm::terminal && output.format != Format::text)
    throw Error(Exit::usage, "--plot - draws in the terminal, beside text alone", "--plot FILE.svg or FILE.png");
  const std::string script = report::roofline_plot(report, form);
  if (form == report::PlotForm::terminal) {
    output.out += run_gnuplot(script) + "\n";
  } else {
    run_gnuplot_into(script, file);
  }
}

Exit run(const Arguments& arguments, Output& output) {
  if (!arguments.has("MODEL")) refuse_run_options(arguments, "llmcalc roofline MODEL DEVICE");
  if (arguments.has("peak") || arguments.has("bandwidth")) {
    answer_question(arguments, output);
    return Exit::done;
  }
  if (arguments.has("intensity"))
    throw Error(Exit::usage, "--intensity asks about --peak and --bandwidth", "give both");
  const RooflineReport report = asked_for(arguments, output);
  if (const std::optional<std::string> file = arguments.get("plot")) plot(report, *file, output);
  write(report, output);
  return Exit::done;
}

}  // namespace

Command roofline_command() {
  Command command;
  command.name = "roofline";
  command.summary = "ceilings, ridge points, and every operation of a step under them";
  command.description =
      "For a DEVICE alone: its peaks, its memory bandwidth and the intensity where they meet. With a MODEL: every "
      "operation of one optimizer step, forward, backward and optimizer, with its FLOPs, bytes, intensity, what bounds "
      "it and the least time it takes.\n\n"
      "--plot needs gnuplot.";
  command.examples = {"llmcalc roofline h100-sxm",
                      "llmcalc roofline llama-3-8b h100-sxm --seq 8192 --plot roofline.svg",
                      "llmcalc roofline --peak 100TFLOP/s --bandwidth 1TB/s --intensity 20"};
  Positional model = model_positional();
  model.required = false;
  command.positionals = {model, device_positional(true)};
  command.options = {
      {.name = "plot",
       .value = "FILE",
       .help = "draw it: FILE.svg, FILE.png, or - for the terminal",
       .group = "Roofline"},
      {.name = "peak", .value = "R", .help = "instead of a DEVICE: a compute rate, 100TFLOP/s", .group = "Roofline"},
      {.name = "bandwidth", .value = "R", .help = "and a memory rate, 1TB/s", .group = "Roofline"},
      {.name = "intensity", .value = "I", .help = "and FLOPs for each byte moved: 20", .group = "Roofline"}};
  take_run_options(command, not_of_one_step(),
                   "a roofline is of one device's step as it runs; `llmcalc estimate` takes it");
  command.explains = true;
  command.positionals_not_needed_with = {"peak", "bandwidth", "intensity"};
  command.run = run;
  return command;
}

}  // namespace llmcalc::cli
