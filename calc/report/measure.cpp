#include "report/measure.hpp"

#include <algorithm>
#include <cstdio>
#include <map>

#include "core/quantity.hpp"
#include "report/page.hpp"
#include "report/terminal.hpp"

namespace llmcalc::report {

namespace {

// "256 x 3072 x 768", "8,388,608", "1 MiB".
std::string size_of_workload(const MeasuredWorkload& w) {
  const auto value = [&](const char* name, Count otherwise) {
    const auto found = w.dimensions.find(name);
    return found == w.dimensions.end() ? otherwise : found->second;
  };
  if (value("m", 0) > 0) {
    std::string size =
        std::to_string(value("m", 0)) + " x " + std::to_string(value("n", 0)) + " x " + std::to_string(value("k", 0));
    return value("batch", 1) > 1 ? std::to_string(value("batch", 1)) + " x " + size : size;
  }
  if (value("kv_heads", 0) > 0)
    return std::to_string(value("batch", 1) * value("heads", 1)) + " x " + std::to_string(value("length", 0)) + " x " +
           std::to_string(value("qk_size", 0));
  if (value("rounds", 0) > 0) return format_intensity(w.flops / w.bytes);
  return w.bytes > Bytes(0) ? format_gb(w.bytes) : "";
}

// Which program did it, and how it found its operands: "openblas NT".
std::string code_of(const MeasuredWorkload& w) {
  std::string code = w.variant;
  for (const std::string& more : {w.layout == "NN" ? "" : w.layout, w.span}) {
    if (!more.empty()) code += (code.empty() ? "" : " ") + more;
  }
  return code;
}

std::string verdict_of(const MeasuredWorkload& w) {
  if (!w.verified) return "FAILED: " + w.problem;
  return w.noisy ? "noisy" : "ok";
}

bool computes(const MeasuredWorkload& w) {
  return w.workload == "matmul" || w.workload == "peak" || w.workload == "intensity" ||
         w.dimensions.count("kv_heads") > 0;
}

std::string rate_of(const MeasuredWorkload& w) {
  if (!(w.median > Seconds(0))) return "";
  if (computes(w)) return format_rate(w.flops / w.median);
  if (w.crosses_link()) return format_rate(w.payload() / w.median) + " payload";
  return w.bytes > Bytes(0) ? format_rate(w.bytes / w.median) : "";
}

std::string quoted(const std::string& text) {
  std::string json = Json(text).dump();
  json.pop_back();  // the newline
  return json;
}

std::string seconds(Seconds time) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", time.value());
  return text;
}

// Digits that read back as nearly the same number.
std::string rate_text(double value, const char* unit) {
  char text[48];
  std::snprintf(text, sizeof text, "%.5g %s", value, unit);
  return text;
}

constexpr double giga = 1e9, tera = 1e12;

std::string workload_line(const MeasuredWorkload& w) {
  std::string line = "    - {workload: " + quoted(w.workload) + ", dtype: " + quoted(w.dtype);
  const auto text = [&](const char* key, const std::string& value) {
    if (!value.empty()) line += ", " + std::string(key) + ": " + quoted(value);
  };
  text("variant", w.variant);
  text("layout", w.layout);
  text("span", w.span);
  text("op", w.op);
  text("operation", w.operation);
  for (const auto& [name, size] : w.dimensions) line += ", " + name + ": " + std::to_string(size);
  if (w.times != 1) line += ", times: " + std::to_string(w.times);
  if (w.portion != 1) line += ", portion: " + std::to_string(w.portion);
  if (w.flops > Flops(0)) line += ", flops: " + to_string(w.flops);
  if (w.bytes > Bytes(0)) line += ", bytes: " + to_string(w.bytes);
  line += std::string(", verified: ") + (w.verified ? "true" : "false");
  text("problem", w.problem);
  line += ", samples: " + std::to_string(w.samples) + ", min: " + seconds(w.minimum) + ", p5: " + seconds(w.p5) +
          ", median: " + seconds(w.median) + ", p95: " + seconds(w.p95);
  if (w.cpu_median > Seconds(0)) line += ", cpu_median: " + seconds(w.cpu_median);
  line += ", noise: " + rate_text(w.noise, "");
  line.pop_back();  // the blank before a unit
  line += std::string(", noisy: ") + (w.noisy ? "true" : "false") + ", disturbed: " + std::to_string(w.disturbed);
  text("state", w.state);
  text("stop", w.stop);
  return line + "}\n";
}

std::string transfer_line(const MeasuredTransfer& t) {
  std::string line = "    - {workload: " + quoted(t.workload);
  if (!t.variant.empty()) line += ", variant: " + quoted(t.variant);
  return line + ", latency: " + seconds(t.latency) + ", rate: " + rate_text(t.rate.value() / giga, "GB/s") +
         ", sizes: " + std::to_string(t.sizes) + ", misfit: " + format_fixed(t.misfit, 4) + "}\n";
}

// A burst beside what is sustained of it.
void add_span(const Measured& measured, const MeasuredWorkload& burst, Page& page) {
  if (burst.span != "burst") return;
  for (const MeasuredWorkload& w : measured.workloads) {
    if (w.span != "sustained" || w.workload != burst.workload || w.dtype != burst.dtype || w.variant != burst.variant ||
        w.dimensions != burst.dimensions || w.layout != burst.layout)
      continue;
    page.line(w.workload + " " + w.dtype + ": " + rate_of(burst) + " in " + burst.stop + ", " + rate_of(w) + " " +
              w.stop + ": " + format_percent(burst.median / w.median) + " of the burst");
  }
}

}  // namespace

Json measure_json(const Measured& measured) {
  Json json = Json::object().set("schema", "llmcalc.measure/1").set("device", measured.device);
  Json workloads = Json::array();
  for (const MeasuredWorkload& w : measured.workloads) {
    Json one = Json::object().set("workload", w.workload).set("dtype", w.dtype);
    if (!w.variant.empty()) one.set("variant", w.variant);
    if (!w.layout.empty()) one.set("layout", w.layout);
    if (!w.span.empty()) one.set("span", w.span);
    if (!w.op.empty()) one.set("op", w.op).set("operation", w.operation).set("times", w.times);
    if (w.portion != 1) one.set("portion", w.portion);
    for (const auto& [name, size] : w.dimensions) one.set(name, size);
    if (w.flops > Flops(0)) one.set("flops", w.flops);
    if (w.bytes > Bytes(0)) one.set("bytes", w.bytes);
    one.set("verified", w.verified);
    if (!w.problem.empty()) one.set("problem", w.problem);
    one.set("samples", w.samples).set("min", w.minimum).set("p5", w.p5).set("median", w.median).set("p95", w.p95);
    if (w.cpu_median > Seconds(0)) one.set("cpu_median", w.cpu_median);
    one.set("noise", w.noise).set("noisy", w.noisy).set("disturbed", w.disturbed);
    if (!w.state.empty()) one.set("state", w.state);
    workloads.push(one.set("stop", w.stop));
  }
  json.set("workloads", std::move(workloads));
  if (measured.transfers.empty()) return json;
  Json transfers = Json::array();
  for (const MeasuredTransfer& t : measured.transfers) {
    Json one = Json::object().set("workload", t.workload);
    if (!t.variant.empty()) one.set("variant", t.variant);
    transfers.push(
        one.set("latency", t.latency).set("bytes_per_second", t.rate).set("sizes", t.sizes).set("misfit", t.misfit));
  }
  return json.set("transfers", std::move(transfers));
}

Table measure_table(const std::vector<MeasuredWorkload>& workloads) {
  Table table{{{"workload"},
               {"code", Align::left, "variant"},
               {"size"},
               {"cache", Align::left, "state"},
               {"median", Align::right, "median_seconds"},
               {"5-95 %", Align::right, "range"},
               {"rate", Align::right},
               {"n", Align::right, "samples"},
               {"sure to", Align::right, "noise"},
               {"verdict"}},
              {}};
  for (const MeasuredWorkload& w : workloads) {
    table.rows.push_back(
        {w.operation.empty() ? w.workload + " " + w.dtype : w.operation, code_of(w), size_of_workload(w), w.state,
         Cell(format_time(w.median), w.median), format_time(w.p5) + " - " + format_time(w.p95), rate_of(w),
         Cell(std::to_string(w.samples), w.samples), Cell(format_percent(w.noise), w.noise), verdict_of(w)});
  }
  return table;
}

std::string measure_text(const Measured& measured, bool markdown, Style style) {
  Page page;
  page.title(measured.device);
  for (const auto& [name, value] : measured.method) page.line(name + ": " + value, Tone::faint, 2);
  std::vector<MeasuredWorkload> own, step;
  for (const MeasuredWorkload& w : measured.workloads) (w.op.empty() ? own : step).push_back(w);
  if (!own.empty()) page.table(measure_table(own));
  if (!step.empty()) {
    page.heading("The model's step, operation by operation");
    page.table(measure_table(step));
  }
  for (const auto& [dtype, rate] : measured.peak) page.line("peak " + dtype + ": " + format_rate(rate));
  if (measured.bandwidth) page.line("memory: " + format_rate(*measured.bandwidth) + ", bytes read and written");
  for (const MeasuredTransfer& t : measured.transfers)
    page.line(t.workload + (t.variant.empty() ? "" : " ") + t.variant + ": " + format_time(t.latency) +
              " + payload / " + format_rate(t.rate) + " (" + std::to_string(t.sizes) + " sizes, the furthest off by " +
              format_percent(t.misfit) + ")");
  for (const MeasuredWorkload& burst : measured.workloads) add_span(measured, burst, page);
  for (const std::string& words : measured.expected) page.line(words);
  const auto noisy =
      std::count_if(measured.workloads.begin(), measured.workloads.end(), [](const auto& w) { return w.noisy; });
  if (noisy > 0)
    page.line(std::to_string(noisy) + " of " + std::to_string(measured.workloads.size()) +
                  " never settled: other programs had the machine, or there was no time for more samples.",
              Tone::warning);
  // Together by reason; JSON has no need of them, the profile shows what is there.
  std::map<std::string, std::vector<std::string>> by_reason;
  for (const std::string& what : measured.left_out) {
    const std::size_t colon = std::min(what.find(": "), what.size());
    by_reason[what.substr(std::min(colon + 2, what.size()))].push_back(what.substr(0, colon));
  }
  for (const auto& [reason, names] : by_reason) {
    constexpr std::size_t most_named = 4;
    std::string words = "not measured, " + reason + ": ";
    for (std::size_t i = 0; i < names.size() && i < most_named; ++i) words += (i == 0 ? "" : ", ") + names[i];
    if (names.size() > most_named) words += ", and " + std::to_string(names.size() - most_named) + " more";
    page.line(words, Tone::faint, 2);
  }
  return markdown ? page.as_markdown() : page.as_text(style);
}

std::string measured_profile(const Measured& measured) {
  std::string out = "# Measured by `llmcalc measure`: what this machine does, not what its maker states.\n";
  out += "schema: llmcalc.device/1\nname: " + quoted(measured.device) + "\n";
  if (measured.compute_capability) out += "compute_capability: " + format_fixed(*measured.compute_capability, 1) + "\n";
  out += "memory: {capacity: " + to_string(measured.memory) + " B";
  if (measured.bandwidth) out += ", bandwidth: " + rate_text(measured.bandwidth->value() / giga, "GB/s");
  if (measured.cache > Bytes(0)) out += ", l2: " + to_string(measured.cache) + " B";
  out += "}\n";
  if (!measured.peak.empty()) {
    out += "peak:\n";
    for (const auto& [dtype, rate] : measured.peak)
      out += "  " + dtype + ": " + rate_text(rate.value() / tera, "TFLOP/s") + "\n";
  }
  out +=
      "sources:\n"
      "  peak: the fastest verified matrix product, or the multiply-add loop in registers\n"
      "  memory: the fastest verified pass over memory, bytes read and written\n";
  out += "measured:\n  method:\n";
  for (const auto& [name, value] : measured.method) out += "    " + quoted(name) + ": " + quoted(value) + "\n";
  out += measured.workloads.empty() ? "  workloads: []\n" : "  workloads:\n";
  for (const MeasuredWorkload& w : measured.workloads) out += workload_line(w);
  if (!measured.transfers.empty()) out += "  # each takes latency + payload / rate\n  transfers:\n";
  for (const MeasuredTransfer& t : measured.transfers) out += transfer_line(t);
  return out;
}

}  // namespace llmcalc::report
