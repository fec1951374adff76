// What --explain adds to an estimate: each number's formula, symbolic and with the values put in, its source, and which
// tensors autograd keeps.
#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "core/quantity.hpp"
#include "core/training.hpp"
#include "report/estimate.hpp"
#include "report/estimate_reasons.hpp"
#include "report/formulas.hpp"

namespace llmcalc::report {

namespace {

void explain_parameters(const Report& report, Page& page) {
  const ParameterCounts& counts = report.parameters;
  page.heading("Parameters, explained");
  page.line("total: every distinct tensor once, " + format_count(counts.total) + "; source: " + report.model.source);
  if (report.size_only) return;
  page.line("compute = active - look-up tables = " + format_count(counts.active) + " - " +
            format_count(counts.active - counts.compute) + " = " + format_count(counts.compute));
}

void explain_flops(const Report& report, Page& page) {
  const Count tokens = tokens_in_step(report.run);
  const bool inference = report.run.mode == "infer";
  const Count n = report.mixture_of_experts ? report.parameters.active : report.parameters.total;
  page.heading("FLOPs of a step, explained");
  add_formula(page, "rule of thumb", inference ? "2nd" : "6nd", {{"parameters", n}, {"tokens", tokens}});
  if (!report.flops) return;
  const FlopsReport& flops = *report.flops;
  page.line(
      "exact: the sum over every matrix product that runs, 2 · M · N · K each; attention's two products counted " +
      flops.convention + " (full: " + format_flops(flops.model_full) + ", causal: " + format_flops(flops.model_causal) +
      ")");
  Table table{{{"operation"}, {"how often", Align::right}, {"forward", Align::right}, {"backward", Align::right}}, {}};
  for (const OperationFlops& operation : flops.by_operation) {
    table.rows.push_back({operation.operation,
                          {format_count(operation.count), operation.count},
                          {format_flops(operation.forward), operation.forward},
                          {format_flops(operation.backward), operation.backward}});
  }
  page.table(std::move(table));
  page.line("element-wise operations, not in any of these: " + format_flops(flops.elementwise));
}

// Storages kept for the backward pass, the equal ones of all layers together.
Table kept_table(const MemoryReport& memory) {
  struct Sum {
    Count times = 0;
    Bytes bytes;
  };
  using Key = std::tuple<std::string, std::string, std::string, std::string>;
  std::map<Key, Sum> sums;
  std::vector<Key> order;
  for (const KeptRecord& kept : memory.kept) {
    if (!kept.first) continue;  // a storage counts once, however many operations keep it
    const Key key{memory.modules[kept.module], std::string(name_of(kept.op)), to_string(kept.shape),
                  std::string(name_of(kept.dtype))};
    const auto [entry, is_new] = sums.try_emplace(key);
    if (is_new) order.push_back(key);
    entry->second.times = checked::add(entry->second.times, kept.repeat);
    entry->second.bytes += kept.storage * kept.repeat;
  }
  Table table{{{"where"}, {"operation"}, {"shape"}, {"dtype"}, {"times", Align::right}, {"in all", Align::right}}, {}};
  for (const Key& key : order) {
    const Sum& sum = sums[key];
    const auto& [where, operation, shape, dtype] = key;
    table.rows.push_back(
        {where, operation, shape, dtype, {format_count(sum.times), sum.times}, {format_gib(sum.bytes), sum.bytes}});
  }
  return table;
}

void explain_memory(const Report& report, Page& page) {
  page.heading("Memory, explained");
  add_formula(page, "rule of thumb", "16n", {{"parameters", report.parameters.total}});
  std::string recipe =
      "this recipe: " + report.run.precision + " with " + report.run.optimizer + " keeps " +
      (report.rule_bytes_per_parameter ? format_each(*report.rule_bytes_per_parameter) + " B per parameter"
                                       : "states that depend on the tensors' shapes");
  const auto say = [&](const char* what, Bytes bytes) {
    if (bytes > Bytes()) recipe += std::string(", ") + what + " " + format_both(bytes);
  };
  say("weights", report.memory.parameters);
  say("gradients", report.memory.gradients);
  say("master weights", report.memory.master_weights);
  say("optimizer states", report.memory.optimizer_states);
  page.line(recipe);
  if (report.memory.framework) {
    page.line("beside the tensors: " + format_gib(*report.memory.framework) + ", " + report.memory.framework_note);
  }
  if (report.memory.kept.empty()) return;
  page.line(
      "kept for the backward pass of one micro-batch, each storage once; source: the rules of PyTorch's autograd, as "
      "in " +
      report.model.implementation_version);
  page.table(kept_table(report.memory));
}

// The step from its operations: each at the rate that programs reach, and the launches.
void explain_predicted(const Report& report, Page& page) {
  const TimeReport& time = *report.time;
  const Flops flops = Flops(report.rule_6nd_per_token) * tokens_in_step(report.run);
  add_formula(page, "rule of thumb", "training_time",
              {{"flops", flops.value()},
               {"devices", report.device->count},
               {"peak", report.device->peak.value()},
               {"mfu", Number::as_written(kUsualMfu)}});
  std::string sum;
  for (const auto& [name, seconds] : time.parts) sum += (sum.empty() ? "" : " + ") + name + " " + format_time(seconds);
  page.line(
      "one step: the sum over its operations of max(FLOPs / (peak · share reached · share of the shape), bytes / "
      "(bandwidth · share reached)), and " +
      format_count(time.kernels) + " launches: " + sum + " = " + format_time(*time.step));
  page.line("  shares reached: " + time.rates, Tone::faint);
  page.line("no less than: the sum of max(FLOPs / peak, bytes / bandwidth) = " + format_time(*time.lower_bound_step));
}

void explain_time(const Report& report, Page& page) {
  if (!report.time) return;
  const TimeReport& time = *report.time;
  page.heading("Time and cost, explained");
  const RuleNumbers rate = {
      {"devices", report.device->count}, {"peak", report.device->peak.value()}, {"mfu", time.mfu}};
  const auto with_flops = [&](const Number& flops) {
    RuleNumbers values = rate;
    values.emplace_back("flops", flops);
    return values;
  };
  if (time.step && time.basis == "mfu") {
    add_formula(page, "one step", "training_time", with_flops(report.flops->model.value()));
  } else if (time.step) {
    explain_predicted(report, page);
  }
  if (time.training && !time.step) {
    add_formula(page, "training", "training_time",
                with_flops((Flops(report.rule_6nd_per_token) * *report.run.tokens).value()));
  } else if (time.training) {
    page.line("training: " + format_count(*time.steps) + " steps of " + format_time(*time.step) + " = " +
              format_time(*time.training));
  }
  page.line("peak: " + format_rate(report.device->peak) + " dense " + report.device->peak_key +
            "; source: " + report.device->source);
  if (report.cost && report.cost->usd) {  // of a training
    constexpr double kSecondsPerHour = 3600;
    const double per_hour = *report.cost->usd / report.cost->device_hours;
    add_formula(page, "cost", "cost",
                {{"time", time.training->value()},
                 {"devices", report.device->count},
                 {"usd_per_hour", per_hour / kSecondsPerHour}});
  }
}

}  // namespace

void explain_estimate(const Report& report, Page& page) {
  explain_parameters(report, page);
  explain_flops(report, page);
  if (report.run.mode != "infer") explain_memory(report, page);
  explain_time(report, page);
}

}  // namespace llmcalc::report
