#include "core/training.hpp"

#include <cmath>

#include "core/passes/time.hpp"
#include "core/quantity.hpp"
#include "core/suggest.hpp"

namespace llmcalc {
namespace {

constexpr double seconds_per_hour = 3600, joules_per_kwh = 3.6e6;

// PCI Express, one direction, bytes a second and lane after encoding, from generation 3 on (8, 16, 32 GT/s at
// 128b/130b).
constexpr double pcie3_lane = 8e9 / 8 * 128 / 130;
constexpr int first_generation = 3;
// Of that: pinned copies reach 12.35 of 15.75, 26 of 31.5 and 56 of 63 GB/s (te42kyfo/gpu-benches README; nvbandwidth
// README; cuda-samples #357); pageable ones about half (NVlabs/cuda-oxide PR #976: 12.9 to 18.4 of 31.5).
constexpr double pinned_share = 0.83, pageable_share = 0.45;

// A file system that is neither slow nor fast; stated beside the time.
constexpr BytesPerSecond checkpoint_rate(1e9);

double share_of_peak(Flops flops, Seconds step, const Report& report) {
  return flops.as_double() / (step.value() * static_cast<double>(report.device->count) * report.device->peak.value());
}

// With an MFU given.
void time_from_mfu(TimeReport& time, const Report& report, double rate) {
  time.basis = "mfu";
  time.mfu = *report.run.mfu;
  if (report.flops) {
    time.step = report.flops->model / FlopsPerSecond(rate);
    return;
  }
  if (!report.run.tokens) return;
  const double tokens = static_cast<double>(*report.run.tokens);
  time.training = Seconds(static_cast<double>(report.rule_6nd_per_token) * tokens / rate);
  time.tokens_per_second = tokens / time.training->value();
}

// First of what is said: who shows one line shows this one.
void no_time(Report& report, const std::string& why) { report.scope.insert(report.scope.begin(), "no time: " + why); }

}  // namespace

Count tokens_in_step(const ResolvedRun& run) {
  return checked::multiply(checked::multiply(run.batch, run.seq), checked::multiply(run.accumulate, run.gpus));
}

std::optional<double> price_per_hour(const ResolvedRun& run, const Device& device) {
  if (run.price) return run.price;
  if (device.price) return device.price->value();
  return std::nullopt;
}

void refuse_mfu(const std::string& what, double mfu) {
  throw Error(
      Exit::bad_input, what + ": an MFU of " + format_percent(mfu) + " is more than the hardware can do",
      "usual causes: a sparse peak (twice the dense one), a forgotten device count, all parameters of a mixture of "
      "experts, hardware FLOPs taken for model FLOPs, attention counted in full where the kernel skips half");
}

void add_time(Report& report, const Resolved& resolved, const Device& device, const Model* model,
              const TracedStep* step) {
  if (report.device->peak == FlopsPerSecond(0)) {
    no_time(report, device.name + " states no " + report.device->peak_key + " peak");
    return;
  }
  const ResolvedRun& run = resolved.run;
  TimeReport time;
  // How attention is counted is a convention; how long it takes is not: a causal kernel skips what is masked.
  const Rates rates(device, resolved.plan, AttentionCounting::causal);
  std::optional<StepTime> predicted;
  if (step && rates.why_not.empty()) {
    predicted = time_step(*step, *model, resolved.plan, rates);
    time.lower_bound_step = predicted->least;
  }
  if (run.mfu) {
    time_from_mfu(time, report, static_cast<double>(run.gpus) * report.device->peak.value() * *run.mfu);
    if (time.step && predicted && *time.step < predicted->least)
      report.scope.push_back("the MFU given is above what the roofline of these operations allows, " +
                             format_percent(share_of_peak(report.flops->model, predicted->least, report)));
  } else if (predicted) {
    time.basis = rates.basis;
    time.step = predicted->expected;
    time.band = {predicted->shortest, predicted->longest};
    time.parts = predicted->parts;
    time.kernels = predicted->kernels;
    time.rates = rates.source;
    time.mfu = share_of_peak(report.flops->model, *time.step, report);
    if (time.mfu > 1) refuse_mfu("--attention-flops " + run.attention_flops, time.mfu);
  } else {
    no_time(report, step ? rates.why_not : "give --mfu, since only the model's size is known");
    return;
  }
  if (time.step) {
    time.hfu = share_of_peak(report.flops->hardware, *time.step, report);
    constexpr double rounding = 1e-9;
    if (time.hfu > 1 + rounding)
      throw Error(Exit::bad_input,
                  "--mfu " + format_percent(time.mfu) + ": the device would execute " + format_percent(time.hfu) +
                      " of its peak, for what is executed beside the model's FLOPs",
                  "at most --mfu " + format_fixed(std::floor(1000 * time.mfu / time.hfu) / 10, 1) + "% with this job");
    if (time.hfu < time.mfu * (1 - rounding))
      report.scope.push_back("the MFU is above the HFU: " + in_quotes(run.attention_flops) +
                             " counts work that is not executed, such as the masked scores a fused kernel skips");
    const Count tokens = tokens_in_step(run);
    time.tokens_per_second = static_cast<double>(tokens) / time.step->value();
    if (run.tokens) {
      time.steps = ceil_div(*run.tokens, tokens);
      time.training = *time.step * static_cast<double>(*time.steps);
    }
  }
  report.time = std::move(time);
}

void add_cost(Report& report, const Resolved& resolved, const Device& device) {
  if (!report.time || !report.time->training) return;
  CostReport cost;
  cost.device_hours = report.time->training->value() / seconds_per_hour * static_cast<double>(resolved.run.gpus);
  if (const std::optional<double> price = price_per_hour(resolved.run, device)) cost.usd = cost.device_hours * *price;
  if (device.power) cost.energy_kwh = cost.device_hours * seconds_per_hour * device.power->value() / joules_per_kwh;
  report.cost = cost;
}

void add_transfers(Report& report, const Resolved& resolved, const Device& device) {
  const MemoryReport& memory = report.memory;
  CheckpointReport checkpoint;
  checkpoint.bytes = memory.parameters + memory.master_weights + memory.optimizer_states;
  checkpoint.rate = checkpoint_rate;
  checkpoint.write = checkpoint.bytes / checkpoint.rate;
  report.checkpoint = checkpoint;
  if (!report.time || !report.time->step || memory.inputs == Bytes(0)) return;
  if (!device.pcie_generation || *device.pcie_generation < first_generation) return;
  double link = pcie3_lane * device.pcie_lanes.value_or(16);
  for (int generation = first_generation; generation < *device.pcie_generation; ++generation) link *= 2;
  InputReport input;
  input.per_step = memory.inputs * resolved.run.accumulate;
  input.pinned = input.per_step / BytesPerSecond(link * pinned_share);
  input.pageable = input.per_step / BytesPerSecond(link * pageable_share);
  input.hidden = input.pageable < *report.time->step;
  report.input = input;
}

}  // namespace llmcalc
