#include "report/mfu.hpp"

#include <cmath>

#include "core/quantity.hpp"
#include "core/suggest.hpp"
#include "core/training.hpp"

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
  if (waiting > 0)
    line += "; " + format_percent(waiting) + " is left for waiting (host, network, data) and for slower kernels";
  return line + ".";
}

void add_breakdown(const UtilizationReport& report, Page& page) {
  page.heading("Where the step goes");
  page.line(busy_line(report), Tone::plain, 2);
  page.line("Expected of this job: " + format_time(*report.expected_step) + " a step, MFU " +
                format_percent(*report.expected_mfu) + ".",
            Tone::plain, 2);
  if (*report.step < *report.expected_step)
    page.line(
        "This run is faster than expected: its kernels beat the rates below, or fewer of them run (fusion, "
        "compilation).",
        Tone::plain, 2);
  if (report.host_at_worst > *report.step * 0.5)
    page.line("A framework that issues one operation in 14.8 us needs " + format_time(report.host_at_worst) +
                  " for the " + format_count(report.kernels) +
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
  if (report.filled.empty()) return json;
  Json shares = Json::object();
  for (const auto& [name, share] : report.filled) shares.set(name, share);
  return json.set("shares", std::move(shares))
      .set("expected_step", report.expected_step)
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
  if (!report.filled.empty()) add_breakdown(report, page);
  return page;
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
  return json.set("plan", answer.set("usd", plan.dollars).set("devices", plan.devices)).set("basis", job.time->basis);
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
  if (plan.devices && job.cost && job.cost->usd) page.line("That costs " + format_dollars(*job.cost->usd) + ".");
  page.line("Replicas that share the batch, with communication that hides behind the step.", Tone::faint);
  return page;
}

}  // namespace llmcalc::report
