#include "report/mfu.hpp"

#include <cmath>

#include "core/quantity.hpp"
#include "core/suggest.hpp"
#include "core/training.hpp"
#include "report/formulas.hpp"

namespace llmcalc::report {

namespace {

std::string rounded(double value) { return format_count(static_cast<Int128>(std::llround(value))); }

std::string devices_in_words(Count count, const std::string& name) {
  return (count == 1 ? "" : format_count(count) + " x ") + name;
}

Table other_answers(const UtilizationReport& report) {
  Table table{{{"other answers"}, {"MFU", Align::right}, {"because"}}, {}};
  for (const OtherAnswer& one : report.others) {
    const bool same = one.name == report.run.attention_flops;
    table.rows.push_back({one.name + (same ? " (asked for)" : ""), format_percent(one.mfu), one.why});
  }
  return table;
}

// "busy 100 %, MFU 31 %, because ..."
std::string busy_line(const UtilizationReport& report) {
  double waiting = 0, products = 0;
  std::string rest;
  for (const auto& [name, share] : report.filled) {
    if (name == "waiting") {
      waiting = share;
    } else if (name == "matrix products" || name == "attention") {
      products += share;
    } else {
      rest += (rest.empty() ? "" : ", ") + name + " " + format_percent(share);
    }
  }
  std::string line = "A monitor's \"GPU utilisation\" counts any kernel and can read 100 % here. MFU is " +
                     format_percent(report.mfu) + ", because matrix products and attention fill at most " +
                     format_percent(products) + " of the step at the rates programs reach; " + rest;
  return line + "; " + format_percent(waiting) + " is left for waiting (host, network, data) and for slower kernels.";
}

void add_breakdown(const UtilizationReport& report, Page& page) {
  page.heading("Where the step goes");
  if (!report.filled.empty()) page.line(busy_line(report), Tone::plain, 2);
  // An MFU that no device reaches says nothing about this job.
  const std::string expected = "Expected of this job: " + format_time(*report.expected_step) + " a step" +
                               (*report.expected_mfu <= 1 ? ", MFU " + format_percent(*report.expected_mfu) : "");
  if (report.filled.empty()) {
    page.line(expected + ". The run's " + format_time(*report.step) +
                  " are fewer, so what filled them cannot be said: its kernels beat the rates below, fewer of them run "
                  "(fusion, compilation), or the job is not the one described.",
              Tone::plain, 2);
  } else {
    page.line(expected + ".", Tone::plain, 2);
  }
  if (report.host_at_worst > *report.step * 0.5)
    page.line("A framework that issues one operation in " +
                  format_time(report.host_at_worst / static_cast<double>(report.kernels)) + " needs " +
                  format_time(report.host_at_worst) + " for the " + format_count(report.kernels) +
                  " kernels of a step: larger batches, compilation or graphs may help.",
              Tone::plain, 2);
  page.line("Rates: " + report.rates + ".", Tone::faint, 2);
}

}  // namespace

Json utilization_json(const UtilizationReport& report) {
  Json json = Json::object().set("schema", "llmcalc.mfu/1").set("model", report.model);
  json.set("device", Json::object()
                         .set("name", report.device)
                         .set("count", report.run.gpus)
                         .set("peak_dtype", report.peak_key)
                         .set("peak_flops_per_second", report.peak));
  json.set("convention", report.run.attention_flops).set("mfu", report.mfu).set("hfu", report.hfu);
  json.set("tokens_per_second", report.tokens_per_second).set("step", report.step).set("days", report.days);
  json.set("model_flops_per_second", report.model_rate).set("verdict", report.verdict);
  Json others = Json::array();
  for (const OtherAnswer& one : report.others)
    others.push(Json::object().set("name", one.name).set("mfu", one.mfu).set("because", one.why));
  json.set("other_answers", std::move(others));
  if (!report.expected_step) return json;
  if (!report.filled.empty()) {
    Json shares = Json::object();
    for (const auto& [name, share] : report.filled) shares.set(name, share);
    json.set("shares", std::move(shares));
  }
  return json.set("expected_step", report.expected_step)
      .set("expected_mfu", report.expected_mfu)
      .set("kernels", report.kernels)
      .set("rates", report.rates);
}

Page utilization_page(const UtilizationReport& report) {
  Page page;
  page.title(report.model + " on " + devices_in_words(report.run.gpus, report.device));
  std::string mfu = "MFU " + format_percent(report.mfu);
  if (report.hfu) mfu += ", HFU " + format_percent(*report.hfu);
  page.line(mfu + " of " + format_rate(report.peak) + " dense " + report.peak_key +
                (report.run.gpus > 1 ? " each" : "") + ", model FLOPs counted by " +
                in_quotes(report.run.attention_flops) + ". That is " + report.verdict + ".",
            Tone::plain, 2);
  std::string rates =
      rounded(report.tokens_per_second) + " tokens/s, " + format_rate(report.model_rate) + " of model FLOPs a device";
  if (report.step)
    rates += ", " + format_time(*report.step) + " a step of " + format_count(tokens_in_step(report.run)) + " tokens";
  if (report.days)
    rates +=
        "; " + format_short_count(*report.run.tokens) + " tokens take " + format_significant(*report.days, 4) + " days";
  page.line(rates, Tone::plain, 2);
  page.heading("Where other answers come from");
  page.table(other_answers(report));
  if (report.expected_step) add_breakdown(report, page);
  return page;
}

void explain_utilization(const UtilizationReport& report, Page& page) {
  const double devices = static_cast<double>(report.run.gpus);
  const double achieved = report.model_rate.value() * devices;  // of all devices
  page.heading("Explained");
  add_formula(
      page, "model FLOPs a second", "achieved_rate",
      {{"flops_per_token", achieved / report.tokens_per_second}, {"tokens_per_second", report.tokens_per_second}});
  page.line(
      "  of one token: by " + in_quotes(report.run.attention_flops) + "; `llmcalc estimate --explain` sums them up",
      Tone::faint);
  add_formula(page, "MFU", "mfu",
              {{"achieved", achieved}, {"devices", report.run.gpus}, {"peak", report.peak.value()}});
  if (report.hfu)
    page.line("HFU = MFU · executed FLOPs / model FLOPs = " + format_percent(report.mfu) + " · " +
              format_significant(*report.hfu / report.mfu, 4) + " = " + format_percent(*report.hfu));
  if (!report.filled.empty())
    page.line("shares of the step: what each part takes at the rates below / " + format_time(*report.step) +
              "; waiting is what is left");
}

void explain_plan(const PlanReport& plan, Page& page) {
  const Report& job = plan.job;
  page.heading("Explained");
  constexpr double hours_a_day = 24;
  page.line(
      "tokens a second = tokens of a step / its time; MFU = model FLOPs of a step / (its time · devices · peak) = " +
      format_percent(job.time->mfu));
  if (plan.tokens)
    page.line("tokens = dollars / (devices · dollars per hour) · 3,600 s · tokens a second = " +
              format_significant(*plan.days * hours_a_day, 4) + " h · 3,600 s · " + rounded(plan.tokens_per_second) +
              " = " + format_short_count(static_cast<Int128>(*plan.tokens)));
  if (plan.devices)
    page.line("devices = the least whose whole steps are through within the days: " +
              format_significant(*plan.days, 4) + " days with " + format_count(*plan.devices));
}

Json plan_json(const PlanReport& plan) {
  const Report& job = plan.job;
  Json json = Json::object().set("schema", "llmcalc.mfu/1").set("model", job.model.name);
  json.set("device", Json::object()
                         .set("name", job.device->name)
                         .set("count", job.device->count)
                         .set("peak_dtype", job.device->peak_key)
                         .set("peak_flops_per_second", job.device->peak));
  json.set("convention", job.run.attention_flops)
      .set("mfu", job.time->mfu)
      .set("tokens_per_second", plan.tokens_per_second);
  json.set("step", job.time->step).set("days", plan.days);
  Json answer = Json::object();
  if (plan.tokens) answer.set("tokens", static_cast<Int128>(*plan.tokens));
  json.set("plan", answer.set("usd", plan.dollars).set("devices", plan.devices)).set("basis", job.time->basis);
  if (plan.devices)
    json.set("cost", Json::object()
                         .set("device_hours", job.cost->device_hours)
                         .set("usd", job.cost->usd)
                         .set("energy_kwh", job.cost->energy_kwh));
  return json;
}

Page plan_page(const PlanReport& plan) {
  const Report& job = plan.job;
  Page page;
  page.title(job.model.name + " on " + devices_in_words(job.device->count, job.device->name));
  const std::string at = " at " + rounded(plan.tokens_per_second) + " tokens/s (MFU " + format_percent(job.time->mfu) +
                         (job.time->basis == "mfu" ? ", as given)" : ", expected)");
  if (plan.tokens)
    page.line(format_dollars(*plan.dollars) + " buy " + format_short_count(static_cast<Int128>(*plan.tokens)) +
              " tokens in " + format_significant(*plan.days, 4) + " days" + at);
  if (plan.devices)
    page.line(format_count(*plan.devices) + (*plan.devices == 1 ? " device takes " : " devices take ") +
              format_significant(*plan.days, 4) + " days for " + format_short_count(*job.run.tokens) + " tokens" + at);
  if (plan.devices && job.cost->usd) page.line("That costs " + format_dollars(*job.cost->usd) + ".");
  page.line("Replicas that share the batch, with communication that hides behind the step.", Tone::faint);
  return page;
}

}  // namespace llmcalc::report
