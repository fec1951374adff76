#include "report/compare.hpp"

#include <algorithm>
#include <cmath>

#include "core/quantity.hpp"

namespace llmcalc::report {

namespace {

constexpr double kSecondsPerHour = 3600;

// What is larger is better; 0: not known.
double merit(const Compared& row, const std::string& by) {
  if (by == "mfu") return row.report.time ? row.report.time->mfu : 0;
  if (by == "tokens-per-dollar") return row.tokens_per_dollar().value_or(0);
  if (by == "tokens-per-joule") return row.tokens_per_joule().value_or(0);
  if (by == "step") return row.report.time && row.report.time->step ? 1 / row.report.time->step->value() : 0;
  return row.tokens_per_second();
}

const char* verdict_word(const Compared& row) {
  if (!row.report.fit) return "";
  switch (row.report.fit->verdict) {
    case Verdict::fits: return "fits";
    case Verdict::tight: return "tight";
    case Verdict::no: return "no";
  }
  return "";
}

Cell number(double value, int figures) {
  return value > 0 ? Cell(format_significant(value, figures), Json(value)) : Cell("");
}

Cell whole(double value) {
  return value > 0 ? Cell(format_count(static_cast<Int128>(std::llround(value))), Json(value)) : Cell("");
}

}  // namespace

double Compared::tokens_per_second() const { return report.time ? report.time->tokens_per_second : 0; }

std::optional<double> Compared::tokens_per_dollar() const {
  if (!usd_per_hour || !(*usd_per_hour > 0) || !(tokens_per_second() > 0)) return std::nullopt;
  return tokens_per_second() * kSecondsPerHour / (*usd_per_hour * static_cast<double>(report.run.gpus));
}

std::optional<double> Compared::tokens_per_joule() const {
  if (!device->power || !(device->power->value() > 0) || !(tokens_per_second() > 0)) return std::nullopt;
  return tokens_per_second() / (device->power->value() * static_cast<double>(report.run.gpus));
}

std::vector<std::string> sort_names() {
  return {"tokens-per-second", "step", "mfu", "tokens-per-dollar", "tokens-per-joule"};
}

void sort_compared(std::vector<Compared>& rows, const std::string& by) {
  const auto rank = [&](const Compared& row) { return merit(row, by) > 0 ? (row.does_not_fit() ? 1 : 0) : 2; };
  std::stable_sort(rows.begin(), rows.end(), [&](const Compared& a, const Compared& b) {
    if (rank(a) != rank(b)) return rank(a) < rank(b);
    return merit(a, by) > merit(b, by);
  });
}

Table compare_table(const std::vector<Compared>& rows) {
  Table table{{{"device"},
               {"precision", Align::right},
               {"fits", Align::right},
               {"step", Align::right, "step"},
               {"MFU", Align::right},
               {"tokens/s", Align::right, "tokens_per_second"},
               {"tokens/$", Align::right, "tokens_per_dollar"},
               {"tokens/J", Align::right, "tokens_per_joule"}},
              {}};
  for (const Compared& row : rows) {
    const std::optional<TimeReport>& time = row.report.time;
    table.rows.push_back({row.device->name, row.report.run.precision, verdict_word(row),
                          time && time->step ? Cell(format_time(*time->step), Json(*time->step)) : Cell(""),
                          time && time->mfu > 0 ? Cell(format_percent(time->mfu), Json(time->mfu)) : Cell(""),
                          whole(row.tokens_per_second()), whole(row.tokens_per_dollar().value_or(0)),
                          number(row.tokens_per_joule().value_or(0), 3)});
  }
  return table;
}

Page compare_page(const std::vector<Compared>& rows) {
  Page page;
  if (rows.empty()) return page;
  const ResolvedRun& run = rows.front().report.run;
  page.title(rows.front().report.model.name + (run.mode == "infer" ? ": inference of " : ": one step of ") +
             format_count(run.batch) + " x " + format_count(run.seq) + " tokens" +
             (run.accumulate > 1 ? " x " + format_count(run.accumulate) : "") +
             (run.gpus > 1 ? " on " + format_count(run.gpus) + " devices each" : ""));
  page.table(compare_table(rows));
  std::string prices;
  for (const Compared& row : rows)
    if (row.usd_per_hour)
      prices += (prices.empty() ? "" : ", ") + row.device->name + " " + format_dollars(*row.usd_per_hour) +
                (row.device->price_as_of.empty() ? "" : " (" + row.device->price_as_of + ")");
  if (!prices.empty()) page.line("Per device-hour: " + prices + ".", Tone::faint, 2);
  for (const Compared& row : rows)
    if (!row.report.time) page.line(row.device->name + ": " + row.report.scope.front(), Tone::warning, 2);
  page.line("Joules at the board's power limit. Where a job does not fit, the time is what it would take if it did.",
            Tone::faint, 2);
  return page;
}

void explain_compare(const std::vector<Compared>& rows, Page& page) {
  page.heading("Explained");
  page.line("step, MFU: as `llmcalc estimate --explain` shows for one device");
  page.line(
      "tokens/s = tokens of a step / its time; tokens/$ = tokens/s · 3,600 / (dollars per device-hour · devices); "
      "tokens/J = tokens/s / (power limit · devices)");
  for (const Compared& row : rows) {
    if (!row.tokens_per_dollar()) continue;
    page.line("  " + row.device->name + ": " +
              format_count(static_cast<Int128>(std::llround(row.tokens_per_second()))) + " · 3,600 / (" +
              format_dollars(*row.usd_per_hour) + " · " + format_count(row.report.run.gpus) +
              ") = " + format_count(static_cast<Int128>(std::llround(*row.tokens_per_dollar()))) + " tokens/$");
  }
  page.line("source of power and price: each device's profile", Tone::faint);
}

Json compare_json(const std::vector<Compared>& rows) {
  Json json = Json::object().set("schema", "llmcalc.compare/1");
  if (!rows.empty()) json.set("model", rows.front().report.model.name);
  Json devices = Json::array();
  for (const Compared& row : rows) {
    const Report& report = row.report;
    Json one = Json::object()
                   .set("device", row.device->name)
                   .set("count", report.run.gpus)
                   .set("precision", report.run.precision);
    if (report.fit)
      one.set("fit", Json::object()
                         .set("verdict", verdict_word(row))
                         .set("capacity", report.fit->capacity)
                         .set("headroom", report.fit->headroom)
                         .set("max_batch", report.fit->max_batch));
    if (report.time) {
      one.set("step", report.time->step).set("basis", report.time->basis);
      if (report.time->mfu > 0) one.set("mfu", report.time->mfu);
      if (row.tokens_per_second() > 0) one.set("tokens_per_second", row.tokens_per_second());
      one.set("training", report.time->training);
    }
    one.set("usd_per_hour", row.usd_per_hour).set("tokens_per_dollar", row.tokens_per_dollar());
    one.set("tokens_per_joule", row.tokens_per_joule());
    if (report.cost) one.set("usd", report.cost->usd).set("energy_kwh", report.cost->energy_kwh);
    devices.push(std::move(one));
  }
  return json.set("devices", std::move(devices));
}

}  // namespace llmcalc::report
