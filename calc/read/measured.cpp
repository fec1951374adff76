#include "read/measured.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/fields.hpp"
#include "core/quantity.hpp"

namespace llmcalc {
namespace {

// Seconds: a bare number, or a time with its unit.
Seconds time(Fields& fields, const char* key) {
  const Value* value = fields.raw(key);
  if (!value) return Seconds(0);
  Parsed<Seconds> parsed;
  if (value->kind == Value::Kind::integer || value->kind == Value::Kind::real) {
    parsed.value = Seconds(fields.number(key, 0));
  } else {
    parsed = parse_duration(value->text);
  }
  if (!parsed) {
    fields.error(key, std::move(parsed.message), "seconds, or a time with its unit");
    return Seconds(0);
  }
  constexpr double least = 1e-12, most = 1e9;  // seconds; 0 stands for nothing measured
  const double seconds = (*parsed).value();
  if (seconds < 0) fields.error(key, "is negative");
  if (seconds > most || (seconds > 0 && seconds < least)) fields.error(key, "is no time that can be measured");
  return *parsed;
}

// A whole number of any size; 0 when absent.
Int128 whole(Fields& fields, const char* key) {
  const Value* value = fields.raw(key);
  if (!value) return 0;
  Parsed<Int128> parsed = parse_large_count(value->text);
  if (!parsed) fields.error(key, std::move(parsed.message), std::move(parsed.hint));
  return parsed ? *parsed : 0;
}

Bytes bytes(Fields& fields, const char* key) {
  const Int128 count = whole(fields, key);
  if (count <= std::numeric_limits<Count>::max()) return Bytes(static_cast<Count>(count));
  fields.error(key, "is too large");
  return Bytes(0);
}

MeasuredWorkload read_workload(const Value& map, Diagnostics& diagnostics) {
  Fields fields(map, diagnostics, "measured.workloads");
  MeasuredWorkload workload;
  workload.workload = fields.text("workload", "");
  if (workload.workload.empty()) fields.error("workload", "is required and missing");
  workload.dtype = fields.text("dtype", "");
  workload.flops = Flops(whole(fields, "flops"));
  workload.bytes = bytes(fields, "bytes");
  workload.verified = fields.flag("verified", false);
  workload.noisy = fields.flag("noisy", false);
  workload.samples = fields.count_or_zero("samples", 0);
  if (!fields.has("median")) fields.error("median", "is required and missing");
  workload.median = time(fields, "median");
  workload.p5 = fields.has("p5") ? time(fields, "p5") : workload.median;
  workload.p95 = fields.has("p95") ? time(fields, "p95") : workload.median;
  workload.variant = fields.text("variant", "");
  workload.layout = fields.text("layout", "");
  workload.span = fields.text("span", "");
  workload.op = fields.text("op", "");
  workload.operation = fields.text("operation", "");
  workload.times = fields.count_or_zero("times", 1);
  workload.portion = fields.count_or_zero("portion", 1);
  workload.state = fields.text("state", "");
  workload.stop = fields.text("stop", "");
  workload.problem = fields.text("problem", "");
  workload.minimum = fields.has("min") ? time(fields, "min") : workload.p5;
  workload.cpu_median = time(fields, "cpu_median");
  workload.noise = fields.number("noise", 0);
  workload.disturbed = fields.count_or_zero("disturbed", 0);
  // Whatever else is a whole number is a dimension: m, n, k, batch, elements, ...
  for (const Entry& entry : map.map) {
    const bool known = std::find(fields.known().begin(), fields.known().end(), entry.key) != fields.known().end();
    if (known || entry.value.kind != Value::Kind::integer) continue;
    if (entry.value.integer < 0) diagnostics.error(entry.value.place, "is negative");
    workload.dimensions[entry.key] = entry.value.integer;
  }
  return workload;
}

MeasuredTransfer read_transfer(const Value& map, Diagnostics& diagnostics) {
  Fields fields(map, diagnostics, "measured.transfers");
  MeasuredTransfer transfer;
  transfer.workload = fields.text("workload", "");
  transfer.variant = fields.text("variant", "");
  transfer.latency = time(fields, "latency");
  const Parsed<BytesPerSecond> rate = parse_byte_rate(fields.text("rate", ""));
  if (rate)
    transfer.rate = *rate;
  else
    fields.error("rate", rate.message, rate.hint);
  transfer.sizes = fields.count_or_zero("sizes", 0);
  transfer.misfit = fields.number("misfit", 0);
  return transfer;
}

}  // namespace

void read_measured(const Value& map, Device& device, Diagnostics& diagnostics) {
  Fields fields(map, diagnostics, "measured");
  if (const Value* method = fields.raw("method")) {
    for (const Entry& entry : method->map) device.measured_method[entry.key] = entry.value.text;
  }
  if (const Value* transfers = fields.raw("transfers")) {
    if (transfers->kind != Value::Kind::list) fields.error("transfers", "must be a list");
    for (const Value& item : transfers->list) {
      if (item.kind == Value::Kind::map)
        device.transfers.push_back(read_transfer(item, diagnostics));
      else
        diagnostics.error(item.place, "must be a map such as {workload: memcpy, latency: 1e-6, rate: 20 GB/s}");
    }
  }
  const Value* workloads = fields.raw("workloads");
  if (!workloads) {
    fields.error("workloads", "is required and missing");
    return;
  }
  if (workloads->kind != Value::Kind::list) {
    fields.error("workloads", "must be a list of workloads");
    return;
  }
  for (const Value& item : workloads->list) {
    if (item.kind != Value::Kind::map) {
      diagnostics.error(item.place, "must be a map such as {workload: copy, bytes: 2048, median: 1e-3}");
      continue;
    }
    device.measured.push_back(read_workload(item, diagnostics));
  }
}

}  // namespace llmcalc
