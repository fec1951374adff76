// `llmcalc dtype [NAME...] [--value X]`: number formats, and how each stores a value.
#include "cli/all_commands.hpp"
#include "core/suggest.hpp"
#include "report/number_formats.hpp"

namespace llmcalc::cli {

namespace {

report::FormatList formats_from(const std::vector<std::string>& names) {
  report::FormatList list;
  Diagnostics problems;
  if (names.empty()) {
    for (const number_format::Format& format : number_format::formats()) list.push_back(&format);
  }
  for (const std::string& name : names) {
    const number_format::Format* format = number_format::format_named(name);
    if (format != nullptr) {
      list.push_back(format);
      continue;
    }
    std::vector<std::string> known = number_format::format_names();
    for (const number_format::Format& f : number_format::formats())
      if (*f.torch_name != '\0') known.emplace_back(f.torch_name);
    const std::string near = did_you_mean(name, known);
    problems.error({}, "unknown number format " + in_quotes(name),
                   near.empty() ? "known: " + join(number_format::format_names()) : near);
  }
  problems.throw_if_errors();
  return list;
}

Exit run(const Arguments& arguments, Output& output) {
  const report::FormatList formats = formats_from(arguments.all("NAME"));
  std::optional<report::AskedValue> value;
  if (const auto text = arguments.get("value")) {
    const std::optional<number_format::ExactValue> exact = number_format::parse_exact(*text);
    if (!exact)
      throw Error(Exit::bad_input, "--value: " + in_quotes(*text) + " is no number",
                  "for example 70000, 1e-8, -0.1, inf; up to 1000 digits and exponents up to 5000");
    value = report::AskedValue{*text, *exact};
  }
  switch (output.format) {
    case Format::json: output.out = report::formats_json(formats, value).dump(); break;
    case Format::csv:
      output.out = report::csv_table(value ? report::stored_table(formats, *value) : report::formats_table(formats));
      break;
    case Format::markdown: output.out = report::formats_text(formats, value, output.explain, true, false); break;
    case Format::text: output.out = report::formats_text(formats, value, output.explain, false, output.style()); break;
  }
  return Exit::done;
}

}  // namespace

Command dtype_command() {
  Command command;
  command.name = "dtype";
  command.summary = "number formats: bits, bytes, range, epsilon; how a value is stored";
  command.description =
      "With --value: what each format makes of that value, rounded to the nearest, ties to even, exactly from the "
      "digits "
      "written; with the error, and whether it overflows or underflows.";
  command.examples = {"llmcalc dtype fp16 bf16", "llmcalc dtype --value 70000", "llmcalc dtype fp16 bf16 --value 1e-8"};
  command.positionals = {{.name = "NAME",
                          .help = "formats by PyTorch's name or the short one; all without",
                          .required = false,
                          .repeated = true}};
  command.options = {{.name = "value", .value = "X", .help = "how this value is stored"}};
  command.explains = true;
  command.run = run;
  return command;
}

}  // namespace llmcalc::cli
