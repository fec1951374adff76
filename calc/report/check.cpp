#include "report/check.hpp"

#include "core/quantity.hpp"
#include "report/page.hpp"

namespace llmcalc::report {

Json check_json(const CheckReport& report) {
  Json json = Json::object().set("schema", "llmcalc.check/1");
  Json operations = Json::array();
  for (const CheckedOperation& o : report.operations) {
    Json one = Json::object().set("operation", o.operation).set("predicted", o.predicted).set("measured", o.measured);
    if (o.measured) one.set("ratio", o.ratio);
    one.set("bound", o.bound);
    if (!o.reason.empty()) one.set("reason", o.reason);
    operations.push(std::move(one));
  }
  json.set("operations", std::move(operations));
  if (report.median_error)
    json.set("error", Json::object().set("median", *report.median_error).set("p95", report.p95_error));
  return json.set("covered", report.covered);
}

Table check_table(const CheckReport& report) {
  Table table{{{"operation"},
               {"times", Align::right},
               {"predicted", Align::right},
               {"measured", Align::right},
               {"ratio", Align::right},
               {"bound"},
               {"why"}},
              {}};
  for (const CheckedOperation& o : report.operations) {
    table.rows.push_back({o.operation, Cell(format_count(o.times), o.times),
                          Cell(format_time(o.predicted), o.predicted),
                          o.measured ? Cell(format_time(*o.measured), *o.measured) : Cell(""),
                          o.measured ? Cell(format_fixed(o.ratio, 2), o.ratio) : Cell(""), o.bound, o.reason});
  }
  return table;
}

std::string check_text(const CheckReport& report, bool markdown, Style style) {
  Page page;
  page.title(report.model + ": one step on " + report.device + ", predicted and measured");
  page.line(
      "Predicted from squares, sweeps, copies and attention measured on this device; tested on the model's own shapes, "
      "which predict nothing here.",
      Tone::faint);
  page.table(check_table(report));
  page.line("ratio: measured / predicted; from " + format_fixed(1 / (1 + report.band), 2) + " to " +
            format_fixed(1 + report.band, 2) + " it counts as agreement.");
  if (report.median_error)
    page.line("Error: median " + format_percent(*report.median_error) + ", 95th percentile " +
              format_percent(*report.p95_error) + ".");
  page.line("Covered: " + format_percent(report.covered) + " of the step's time was measured: " +
                format_time(report.measured_step) + ", predicted " + format_time(report.predicted_step) + ".",
            report.covered < least_coverage ? Tone::bad : Tone::plain);
  return markdown ? page.as_markdown() : page.as_text(style);
}

}  // namespace llmcalc::report
