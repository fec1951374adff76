#include "report/roofline.hpp"

#include <algorithm>

#include "core/quantity.hpp"
#include "report/formulas.hpp"

namespace llmcalc::report {

namespace {

constexpr std::size_t kMostOperations = 16;  // rows of the text report; CSV and JSON have them all

template <class T>
Cell exact(const std::string& shown, T value) {
  return {shown, Json(value)};
}

Json ceiling_json(const Ceiling& ceiling) {
  Json json = Json::object().set("name", ceiling.name);
  if (!ceiling.dtype.empty()) json.set("dtype", ceiling.dtype);
  json.set("flops_per_second", ceiling.compute).set("bytes_per_second", ceiling.memory);
  if (ceiling.measured) json.set("measured", true);
  return json;
}

Json operation_json(const RooflineOperation& o) {
  Json json = Json::object().set("operation", operation_label(o)).set("phase", name_of(o.pass));
  if (!o.dtype.empty()) json.set("dtype", o.dtype);
  json.set("count", o.count);
  if (o.flops > Flops()) json.set("flops", o.flops);
  json.set("bytes", o.bytes);
  if (o.flops > Flops()) json.set("intensity", o.intensity());
  json.set("bound", name_of(o.bound));
  if (o.flops > Flops()) json.set("attainable", o.attainable());
  return json.set("time", o.time).set("share", o.share).set("expected_time", o.expected);
}

// Without what every name begins with, and without the kernel's name where the module says it.
std::string short_label(const RooflineOperation& o) {
  constexpr std::string_view layers = "layers.";
  std::string label = o.module.rfind(layers, 0) == 0 ? o.module.substr(layers.size()) : o.module;
  if (o.op == Op::attention_forward || o.op == Op::attention_backward) return label.empty() ? "attention" : label;
  return label + (label.empty() ? "" : " ") + std::string(name_of(o.op));
}

std::string in_units(double value, double unit) { return format_significant(value / unit, 3); }

// What only an operation with FLOPs has; CSV and JSON leave it out for the others.
template <class T>
Cell of_flops(const RooflineOperation& o, double value, double unit, T exactly) {
  return o.flops > Flops() ? exact(in_units(value, unit), exactly) : Cell("-", Json(""));
}

constexpr double kTera = 1e12, kGiga = 1e9;

std::vector<Cell> operation_row(const RooflineOperation& o) {
  return {{short_label(o), Json(operation_label(o))},
          std::string(name_of(o.pass)),
          of_flops(o, o.flops.as_double(), kTera, o.flops),
          exact(in_units(o.bytes.as_double(), kGiga), o.bytes),
          of_flops(o, o.intensity().value(), 1, o.intensity()),
          std::string(name_of(o.bound)),
          of_flops(o, o.attainable().value(), kTera, o.attainable()),
          exact(format_time(o.time), o.time),
          exact(format_percent(o.share), o.share)};
}

std::string job_line(const RooflineReport& report) {
  const ResolvedRun& run = report.run;
  const bool infers = run.mode == "infer";
  std::string line = (infers ? "One forward pass of " : "One step of ") + report.model + ": " +
                     format_count(run.batch) + " x " + format_count(run.seq) + " tokens";
  if (infers) return line + "; " + run.precision + ", attention " + run.attention;
  if (run.accumulate > 1) line += ", " + format_count(run.accumulate) + " micro-batches";
  line += "; " + run.precision + ", " + run.optimizer + " (" + run.optimizer_step + "), attention " + run.attention +
          ", recompute " + run.recompute;
  return line;
}

void add_step(const RooflineReport& report, Page& page) {
  page.heading("Operations, the longest first; TFLOP/s: attainable");
  page.line(job_line(report), Tone::plain, 2);
  page.table(operations_table(report, kMostOperations));
  const StepTime& time = report.time;
  page.line("At the roofline the step takes at least " + format_time(report.step->least) + ": " +
                format_time(time.products_least) + " bound by compute, " + format_time(time.memory_least) +
                " by memory.",
            Tone::plain, 2);
  std::string parts;
  for (const auto& [name, seconds] : time.parts)
    parts += (parts.empty() ? "" : ", ") + name + " " + format_time(seconds);
  page.line("Expected " + format_time(time.expected) + " (likely " + format_time(time.shortest) + " to " +
                format_time(time.longest) + "): " + parts + " for " + format_count(time.kernels) + " kernels.",
            Tone::plain, 2);
  page.line("Rates: " + report.rates + ".", Tone::faint, 2);
}

}  // namespace

std::string operation_label(const RooflineOperation& o) {
  const std::string op(name_of(o.op));
  return o.module.empty() ? op : o.module + " " + op;
}

Json point_json(const RooflineQuestion& q) {
  Json json = Json::object().set("schema", "llmcalc.roofline/1");
  if (!q.intensity) return json.set("ridge", q.peak / q.bandwidth);
  const RooflinePoint point = roofline_point(q.peak, q.bandwidth, *q.intensity);
  return json.set("ridge", point.ridge)
      .set("intensity", point.intensity)
      .set("attainable", point.attainable)
      .set("bound", name_of(point.bound));
}

Page point_page(const RooflineQuestion& q) {
  Page page;
  const FlopsPerByte ridge = q.peak / q.bandwidth;
  page.line("ridge: " + format_intensity(ridge) + " = " + format_rate(q.peak) + " / " + format_rate(q.bandwidth));
  if (!q.intensity) return page;
  const RooflinePoint point = roofline_point(q.peak, q.bandwidth, *q.intensity);
  page.line("attainable: " + format_rate(point.attainable) + " = min(" + format_rate(q.peak) + ", " +
            format_intensity(*q.intensity) + " x " + format_rate(q.bandwidth) + "), " +
            format_percent(point.attainable / q.peak) + " of the peak");
  page.line(
      "bound: " + std::string(name_of(point.bound)) +
      (point.bound == Bound::memory ? ", the intensity is below the ridge" : ", the intensity is not below the ridge"));
  return page;
}

Json roofline_json(const RooflineReport& report) {
  Json json = Json::object().set("schema", "llmcalc.roofline/1").set("device", report.device);
  Json ceilings = Json::array();
  for (const Ceiling& ceiling : report.ceilings) ceilings.push(ceiling_json(ceiling));
  Json ridge = Json::object();
  for (const auto& [dtype, intensity] : report.ridge) ridge.set(dtype, intensity);
  json.set("ceilings", std::move(ceilings)).set("ridge", std::move(ridge));
  if (!report.measured.empty()) {
    Json points = Json::array();
    for (const MeasuredPoint& point : report.measured)
      points.push(
          Json::object().set("name", point.name).set("intensity", point.intensity).set("flops_per_second", point.rate));
    json.set("measured", std::move(points));
  }
  if (!report.step) return json;
  Json operations = Json::array();
  for (const RooflineOperation& o : report.step->operations) operations.push(operation_json(o));
  json.set("model", report.model).set("operations", std::move(operations));
  Json parts = Json::object();
  for (const auto& [name, seconds] : report.time.parts) parts.set(name, seconds);
  json.set("time", Json::object()
                       .set("lower_bound_step", report.step->least)
                       .set("step", report.time.expected)
                       .set("band", Json::array().push(report.time.shortest).push(report.time.longest))
                       .set("parts", std::move(parts))
                       .set("kernels", report.time.kernels)
                       .set("basis", report.basis)
                       .set("rates", report.rates));
  return json;
}

Table ceilings_table(const RooflineReport& report) {
  Table table{{{"ceiling"}, {"rate", Align::right}, {"ridge", Align::right, "flop_per_byte"}}, {}};
  for (const Ceiling& ceiling : report.ceilings) {
    if (ceiling.memory) {
      table.rows.push_back({ceiling.name, exact(format_rate(*ceiling.memory), *ceiling.memory)});
      continue;
    }
    std::vector<Cell> row{ceiling.name, exact(format_rate(*ceiling.compute), *ceiling.compute)};
    if (report.bandwidth) {
      const FlopsPerByte ridge = *ceiling.compute / *report.bandwidth;
      row.push_back(exact(format_intensity(ridge), ridge));
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table operations_table(const RooflineReport& report, std::size_t most) {
  Table table{{{"operation"},
               {"phase", Align::right},
               {"TFLOP", Align::right, "flops"},
               {"GB", Align::right, "bytes"},
               {"FLOP/B", Align::right, "intensity"},
               {"bound", Align::right},
               {"TFLOP/s", Align::right, "attainable"},
               {"at least", Align::right, "time"},
               {"share", Align::right}},
              {}};
  if (!report.step) return table;
  RooflineOperation rest;
  std::size_t summed = 0;
  for (const RooflineOperation& o : report.step->operations) {
    // One row that would stand for a single operation says less than the operation.
    if (most == 0 || table.rows.size() < most || report.step->operations.size() == most + 1) {
      table.rows.push_back(operation_row(o));
      continue;
    }
    ++summed;
    rest.bytes += o.bytes;
    rest.time += o.time;
    rest.share += o.share;
  }
  if (summed > 0)
    table.rows.push_back({std::to_string(summed) + " more", "", "",
                          exact(in_units(rest.bytes.as_double(), kGiga), rest.bytes), "", "", "",
                          exact(format_time(rest.time), rest.time), exact(format_percent(rest.share), rest.share)});
  return table;
}

// The sweep of multiply-adds an element that `measure` runs, beside what the ceilings allow.
Table sweep_table(const RooflineReport& report) {
  Table table{{{"FLOP/B", Align::right, "intensity"},
               {"measured", Align::right, "flops_per_second"},
               {"of the roof", Align::right, "share"}},
              {}};
  const auto peak = std::find_if(report.ceilings.begin(), report.ceilings.end(),
                                 [](const Ceiling& c) { return c.compute && c.dtype == "fp32" && !c.measured; });
  for (const MeasuredPoint& point : report.measured) {
    if (!point.sweep) continue;
    std::vector<Cell> row{exact(format_significant(point.intensity.value(), 3), point.intensity),
                          exact(format_rate(point.rate), point.rate)};
    if (peak != report.ceilings.end() && report.bandwidth) {
      const double share = point.rate / roofline_point(*peak->compute, *report.bandwidth, point.intensity).attainable;
      row.push_back(exact(format_percent(share), share));
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

Page roofline_page(const RooflineReport& report) {
  Page page;
  page.title("Roofline of " + report.device);
  page.table(ceilings_table(report));
  const Table sweep = sweep_table(report);
  if (!sweep.rows.empty()) {
    page.heading("The roof as measured: fp32 multiply-adds on what is read");
    page.table(sweep);
  }
  if (report.step) add_step(report, page);
  return page;
}

void explain_point(const RooflineQuestion& q, Page& page) {
  page.heading("Explained");
  add_formula(page, "ridge", "ridge", {{"peak", q.peak.value()}, {"bandwidth", q.bandwidth.value()}});
  if (!q.intensity) return;
  add_formula(page, "attainable", "roofline",
              {{"peak", q.peak.value()}, {"intensity", q.intensity->value()}, {"bandwidth", q.bandwidth.value()}});
}

void explain_roofline(const RooflineReport& report, Page& page) {
  page.heading("Explained");
  if (report.bandwidth) {
    for (const Ceiling& ceiling : report.ceilings) {
      if (!ceiling.compute || (report.step && ceiling.dtype != report.peak_key)) continue;
      add_formula(page, "ridge of the " + ceiling.name, "ridge",
                  {{"peak", ceiling.compute->value()}, {"bandwidth", report.bandwidth->value()}});
      break;  // the others come about in the same way
    }
  } else {
    page.line("no ridge: the device states no memory bandwidth");
  }
  if (!report.step) return;
  const auto& operations = report.step->operations;
  const auto product = std::find_if(operations.begin(), operations.end(),
                                    [](const RooflineOperation& o) { return o.flops > Flops() && !o.dtype.empty(); });
  page.line(
      "intensity = FLOPs / bytes; at least = the sum over an operation's launches of max(FLOPs / peak, bytes / "
      "bandwidth); attainable = FLOPs / that; share = that / the step's least time");
  if (product != operations.end())
    page.line("  " + operation_label(*product) + ": " + format_flops(product->flops) + " / " +
              format_gb(product->bytes) + " = " + format_intensity(product->intensity()) + "; " +
              format_flops(product->flops) + " / " + format_time(product->time) + " = " +
              format_rate(product->attainable()) + "; " + format_time(product->time) + " / " +
              format_time(report.step->least) + " = " + format_percent(product->share));
  page.line("expected = the same with the rates that programs reach, and " + format_count(report.time.kernels) +
            " launches; likely = with the span of those rates. Source of the peaks: the device's profile");
}

}  // namespace llmcalc::report
