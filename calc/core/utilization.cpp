#include "core/utilization.hpp"

#include <algorithm>
#include <cmath>

#include "core/conventions.hpp"
#include "core/estimate.hpp"
#include "core/passes/flops.hpp"
#include "core/passes/inference.hpp"
#include "core/passes/time.hpp"
#include "core/quantity.hpp"
#include "core/suggest.hpp"
#include "core/training.hpp"

namespace llmcalc {
namespace {

constexpr double seconds_per_day = 86400;
constexpr double training_flops = 6, forward_flops = 2;   // a parameter and token
constexpr double most_devices = 1e9, most_tokens = 1e30;  // that anybody could mean
constexpr double notable = 0.005;                         // a relative difference that is worth a line

// Everything that is known about the job, in FLOPs of one token.
struct Work {
  double model = 0;                        // by the convention asked for
  double hardware = 0;                     // executed; 0: not known
  std::vector<OtherAnswer> by_convention;  // `mfu` holds FLOPs a token here
};

void add_conventions(Work& work, const ModelSource& source, const Resolved& resolved, const TracedStep& step) {
  const double tokens = static_cast<double>(checked::multiply(resolved.run.batch, resolved.run.seq));
  const bool infers = resolved.plan.infers;
  for (const Convention& convention : conventions()) {
    if (infers && !convention.counts_tape) continue;  // formulas for training
    const Flops flops = convention_flops(convention.name, *source.model, resolved.plan.job, step.trace);
    work.by_convention.push_back(
        {std::string(convention.name), flops.as_double() / tokens, std::string(convention.definition)});
    if (convention.name == resolved.run.attention_flops) work.model = flops.as_double() / tokens;
  }
  const ParameterCounts counts = count_parameters(source.model->parameters_for(resolved.plan.job));
  if (infers)
    work.by_convention.push_back(
        {"2nd", forward_flops * static_cast<double>(counts.active), "2 N for each token, N the (active) parameters"});
  work.hardware = count_flops(step.trace, AttentionCounting::causal, 1, 1).hardware.as_double() / tokens;
  if (counts.active != counts.total)
    work.by_convention.push_back({infers ? "2nd of all parameters" : "6nd of all parameters",
                                  (infers ? forward_flops : training_flops) * static_cast<double>(counts.total),
                                  "a mixture of experts charged for experts that a token does not visit"});
}

Work work_of(const ModelSource& source, const Resolved& resolved, const TracedStep* step) {
  Work work;
  if (step) {
    add_conventions(work, source, resolved, *step);
    return work;
  }
  const double each = resolved.plan.infers ? forward_flops : training_flops;
  work.model = each * static_cast<double>(source.active_parameters.value_or(*source.parameters));
  if (source.active_parameters)
    work.by_convention.push_back({resolved.plan.infers ? "2nd of all parameters" : "6nd of all parameters",
                                  each * static_cast<double>(*source.parameters),
                                  "a mixture of experts charged for experts that a token does not visit"});
  return work;
}

// From what was observed to tokens per second of all devices.
void take_observation(UtilizationReport& report, const Observed& observed, bool traced) {
  const double tokens = static_cast<double>(tokens_in_step(report.run));
  if (observed.step) {
    if (!traced && tokens <= 1)
      throw Error(Exit::bad_input, "--step-time: how many tokens a step has is not known", "give --batch and --seq");
    report.tokens_per_second = tokens / observed.step->value();
  } else if (observed.tokens_per_second) {
    report.tokens_per_second = *observed.tokens_per_second;
  } else {
    if (!report.run.tokens) throw Error(Exit::bad_input, "--days: of how many tokens is not known", "give --tokens");
    report.tokens_per_second = static_cast<double>(*report.run.tokens) / (*observed.days * seconds_per_day);
  }
  if (traced || tokens > 1) report.step = Seconds(tokens / report.tokens_per_second);
  if (report.run.tokens)
    report.days = static_cast<double>(*report.run.tokens) / report.tokens_per_second / seconds_per_day;
}

// The peak with 2:4 sparsity, for devices whose units have it: as the profile states it, else twice the dense one.
std::optional<FlopsPerSecond> sparse_peak(const UtilizationReport& report, const Device& device) {
  const auto stated = device.peak.find(report.peak_key + "_sparse");
  if (stated != device.peak.end()) return stated->second;
  if (report.peak_key != "bf16" && report.peak_key != "fp16" && report.peak_key != "tf32") return std::nullopt;
  constexpr double first_capability = 8.0;  // NVIDIA A100 whitepaper: the third generation of tensor cores
  const std::string rate_class = device.units ? device.units->rate_class : "";
  // AMD CDNA 3 whitepaper: 2:4 sparsity in the matrix cores, new with MI300.
  const bool has_it =
      device.compute_capability.value_or(0) >= first_capability || rate_class == "CDNA3" || rate_class == "CDNA4";
  return has_it ? std::optional(report.peak * 2) : std::nullopt;
}

// Above 100 %: which single mistake would explain it. `rate` is the MFU, or the HFU where that alone is too high.
[[noreturn]] void refuse(const UtilizationReport& report, const Device& device, const std::string& what, double rate) {
  std::vector<std::string> causes;
  const double devices = static_cast<double>(report.run.gpus), enough = std::ceil(rate * devices);
  if (enough <= most_devices)
    causes.push_back("tokens per second are of all devices together: with --gpus " + format_fixed(enough, 0) +
                     " it is " + format_percent(rate * devices / enough));
  for (const auto& [key, peak] : device.peak) {
    const double other = rate * (report.peak / peak);
    if (peak > report.peak * (1 + notable) && other <= 1 &&
        (key == "bf16" || key == "fp16" || key == "fp8" || key == "tf32"))
      causes.push_back("under the " + key + " peak it is " + format_percent(other) + ": see --precision");
  }
  causes.push_back(std::string(causes.empty() ? "" : "or ") +
                   "the step holds fewer tokens than --batch, --seq and --accumulate say, or the device is another");
  std::string hint;
  for (const std::string& cause : causes) hint += (hint.empty() ? "" : "; ") + cause;
  throw Error(Exit::bad_input, what + " of " + format_percent(rate) + " is more than " + device.name + " can do", hint);
}

void add_others(UtilizationReport& report, const Work& work, const Device& device) {
  const double devices = static_cast<double>(report.run.gpus);
  const auto share = [&](double flops_per_token) {
    return flops_per_token * report.tokens_per_second / (devices * report.peak.value());
  };
  for (const OtherAnswer& one : work.by_convention) report.others.push_back({one.name, share(one.mfu), one.why});
  if (report.hfu) {
    std::string why = *report.hfu < report.mfu * (1 - notable)
                          ? "what is executed: fused kernels skip the masked scores that " +
                                in_quotes(report.run.attention_flops) + " counts"
                          : "what is executed: recomputation, and attention's backward pass in fused kernels";
    if (report.days && *report.hfu > report.mfu * (1 + notable))
      why += "; taken for an MFU it promises " + format_significant(*report.days * report.mfu / *report.hfu, 3) +
             " days instead of " + format_significant(*report.days, 3);
    report.others.push_back({"hardware FLOPs (HFU)", *report.hfu, why});
  }
  if (const std::optional<FlopsPerSecond> sparse = sparse_peak(report, device))
    report.others.push_back({"sparse peak", report.mfu * (report.peak / *sparse),
                             "under the peak with 2:4 sparsity, " + format_rate(*sparse)});
  if (report.run.gpus > 1)
    report.others.push_back({"one device", report.mfu * devices, "the rate of all devices under the peak of one"});
  for (const auto& [key, rate] : device.peak) {
    if (key != "fp8" && key != "tf32" && key != "fp16_acc16" && key != "fp32") continue;
    if (key == report.peak_key || std::abs(rate / report.peak - 1) < notable) continue;
    const double other = report.mfu * (report.peak / rate);
    if (other <= 1)
      report.others.push_back(
          {key + " peak", other, "under " + format_rate(rate) + ", the peak of another number format"});
  }
}

void add_breakdown(UtilizationReport& report, const ModelSource& source, const Resolved& resolved, const Device& device,
                   const TracedStep& step) {
  const Rates rates(device, resolved.plan, AttentionCounting::causal);
  if (!rates.why_not.empty() || !report.step) return;
  const StepTime time = time_step(step, *source.model, resolved.plan, rates);
  report.expected_step = time.expected;
  report.expected_mfu = report.mfu * (*report.step / time.expected);
  report.kernels = time.kernels;
  report.host_at_worst = time.host_at_worst;
  report.rates = rates.source;
  if (*report.step < time.expected) return;  // what was predicted did not happen: its shares would be invented
  for (const auto& [name, seconds] : time.parts) report.filled.emplace_back(name, seconds / *report.step);
  report.filled.emplace_back("waiting", 1 - time.expected / *report.step);
}

Report planned(const ModelSource& model, const Device& device, const RunOptions& options) {
  if (options.mode == "infer")
    throw Error(Exit::bad_input, "--budget and --deadline plan a training run", "leave out --mode infer");
  Report report = estimate(model, &device, options);
  if (!report.time)
    throw Error(Exit::bad_input, report.scope.empty() ? "no time can be said for this job" : report.scope.front(),
                "give --mfu, or a model described by its architecture");
  return report;
}

}  // namespace

std::string mfu_in_words(double mfu) {
  // Whole runs, by 6ND over reported device-hours: LLaMA 43-51 %, Llama 2 38-43 %, Llama 3.1 405B and DeepSeek-V3 35 %,
  // GPT-NeoX-20B 30 %, Llama 3 70B 28 %.
  const std::string usual = "published whole runs reach 28-51 %";
  // Above what whole runs have shown, and near what the largest products alone reach (achieved_rates.cpp).
  if (mfu > 0.75)
    return "hardly possible: " + usual + "; a device not counted, a sparse peak or all experts would explain it";
  if (mfu >= 0.5) return "very good: " + usual;
  if (mfu >= 0.4) return "good: " + usual;
  if (mfu >= 0.28) return "usual: " + usual;
  return "low: " + usual;
}

UtilizationReport utilization(const ModelSource& source, const Device& device, const RunOptions& options,
                              const Observed& observed) {
  const Resolved resolved = resolve(options, source, &device);
  UtilizationReport report;
  report.model = source.name;
  report.device = device.name;
  report.run = resolved.run;
  if (!source.model) report.run.attention_flops = resolved.plan.infers ? "2nd" : "6nd";  // nothing else can be counted
  report.peak_key = std::string(resolved.plan.precision->peak_key());
  const auto peak = device.peak.find(report.peak_key);
  if (peak == device.peak.end() || !(peak->second > FlopsPerSecond(0)))
    throw Error(Exit::bad_input, device.name + " states no " + report.peak_key + " peak", "another --precision");
  report.peak = peak->second;
  take_observation(report, observed, source.model != nullptr);
  std::optional<TracedStep> step;
  if (source.model) step.emplace(trace_job(*source.model, resolved.plan));
  const Work work = work_of(source, resolved, step ? &*step : nullptr);
  report.model_rate = FlopsPerSecond(work.model * report.tokens_per_second / static_cast<double>(report.run.gpus));
  report.mfu = report.model_rate / report.peak;
  if (report.mfu > 1) refuse(report, device, "an MFU", report.mfu);
  if (work.hardware > 0) report.hfu = report.mfu * work.hardware / work.model;
  if (report.hfu.value_or(0) > 1) refuse(report, device, "an HFU", *report.hfu);
  report.verdict =
      resolved.plan.infers ? "of the forward pass over whole sequences, as a prompt is read" : mfu_in_words(report.mfu);
  add_others(report, work, device);
  if (step) add_breakdown(report, source, resolved, device, *step);
  return report;
}

PlanReport tokens_for_budget(const ModelSource& model, const Device& device, const RunOptions& options,
                             double dollars) {
  RunOptions one = options;
  if (!one.tokens) one.tokens = 1'000'000'000;  // any number: a model known only by its size gives its rate from it
  PlanReport plan;
  plan.job = planned(model, device, one);
  const std::optional<double> price = price_per_hour(plan.job.run, device);
  if (!price || !(*price > 0))
    throw Error(Exit::bad_input, "--budget: " + device.name + " has no price", "give --price");
  plan.tokens_per_second = plan.job.time->tokens_per_second;
  plan.dollars = dollars;
  const double seconds = dollars / (*price * static_cast<double>(plan.job.run.gpus)) * 3600;
  plan.tokens = seconds * plan.tokens_per_second;
  if (!(plan.tokens < most_tokens)) throw Error(Exit::bad_input, "--budget: that buys more tokens than can be counted");
  plan.days = seconds / seconds_per_day;
  return plan;
}

PlanReport devices_for_deadline(const ModelSource& model, const Device& device, const RunOptions& options,
                                double days) {
  if (!options.tokens) throw Error(Exit::bad_input, "--deadline: of how many tokens is not known", "give --tokens");
  // Replicas share the tokens; a step of theirs takes as long as that of one, and steps are whole.
  RunOptions run = options;
  run.gpus = 1;
  const Report alone = planned(model, device, run);
  const double seconds = days * seconds_per_day;
  PlanReport plan;
  if (alone.time->step) {
    const Count steps = static_cast<Count>(std::min(seconds / alone.time->step->value(), 1e15));
    if (steps < 1)
      throw Error(Exit::bad_input, "--deadline: one step takes " + format_time(*alone.time->step) + ", more than that");
    plan.devices = ceil_div(*options.tokens, checked::multiply(tokens_in_step(alone.run), steps));
  } else {
    const double devices = std::ceil(alone.time->training->value() / seconds);
    if (!(devices <= most_devices)) throw Error(Exit::bad_input, "--deadline: no number of devices meets that");
    plan.devices = std::max<Count>(1, static_cast<Count>(devices));
  }
  run.gpus = plan.devices;
  plan.job = planned(model, device, run);
  plan.days = plan.job.time->training->value() / seconds_per_day;
  plan.tokens_per_second = plan.job.time->tokens_per_second;
  return plan;
}

}  // namespace llmcalc
