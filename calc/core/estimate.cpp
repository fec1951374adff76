#include "core/estimate.hpp"

#include <algorithm>

#include "core/conventions.hpp"
#include "core/fit.hpp"
#include "core/passes/device_memory.hpp"
#include "core/passes/flops.hpp"
#include "core/passes/inference.hpp"
#include "core/passes/memory.hpp"
#include "core/quantity.hpp"
#include "core/resolve.hpp"
#include "core/training.hpp"

namespace llmcalc {
namespace {

// Whose operations a layer is made of (docs/memory.md).
const char* version_of(Implementation implementation) {
  switch (implementation) {
    case Implementation::fused: return "Liger-Kernel in transformers 5.24, torch 2.15";
    case Implementation::megatron: return "Megatron-LM's layer, torch 2.15";
    case Implementation::transformers: break;
  }
  return "transformers 5.24, torch 2.15";
}

void add_parameters(Report& report, const ModelSource& source, const StepPlan& plan) {
  if (source.model) {
    report.parameters = count_parameters(parameters_of(*source.model, plan));
    report.mixture_of_experts = source.model->info.mixture_of_experts;
    return;
  }
  report.size_only = true;
  report.parameters.total = report.parameters.trainable = *source.parameters;
  report.parameters.active = source.active_parameters.value_or(*source.parameters);
  report.mixture_of_experts = source.active_parameters.has_value();
}

// What the job holds from step to step.
Bytes held(const MemoryReport& memory) {
  return memory.parameters + memory.gradients + memory.master_weights + memory.optimizer_states;
}

void add_bytes_per_parameter(Report& report) {
  if (report.parameters.total > 0)
    report.rule_bytes_per_parameter = held(report.memory).as_double() / static_cast<double>(report.parameters.total);
}

// Of a model known only by its size. States that depend on the tensors' shapes are not known from it.
void add_size_only_memory(Report& report, const StepPlan& plan) {
  const Precision& p = *plan.precision;
  const Count n = report.parameters.total;
  MemoryReport& memory = report.memory;
  memory.parameters = size_of(p.weight) * n;
  bool all_known = true;
  if (!plan.infers) {
    memory.gradients = size_of(p.gradient) * n;
    if (p.master) memory.master_weights = size_of(*p.master) * n;
    all_known = !states_follow_shape(*plan.optimizer, p.stepped());
    if (all_known) memory.optimizer_states = plan.optimizer->cost(Dims{1}, p.stepped()).states * n;
  }
  memory.peak = held(memory);
  if (all_known)
    add_bytes_per_parameter(report);
  else
    report.scope.push_back("the states of " + std::string(plan.optimizer->name) +
                           ": they depend on the tensors' shapes, which the size alone does not say");
}

// Expert products that autocast leaves in float32, weights and all.
bool experts_in_float32(const StepPlan& plan, const TracedStep& step) {
  const std::vector<Launch>& tape = step.trace.tape();
  return plan.precision->autocast && std::any_of(tape.begin(), tape.end(), [](const Launch& launch) {
           return launch.op == Op::grouped_mm && launch.dtype == DType::float32;
         });
}

// Activations come on top of the states, so these alone can only say no.
void judge_size_only(Report& report, const Device& device) {
  const Bytes capacity = device.usable_memory();
  if (capacity == Bytes(0) || report.memory.peak <= capacity) return;
  report.fit = FitReport();
  report.fit->capacity = capacity;
  report.fit->verdict = Verdict::no;
  report.fit->headroom = (capacity - report.memory.peak).value();
  report.fit->note = "without the activations, which come on top";
}

std::optional<FlopsPerSecond> device_peak(const Device& device, const Precision& precision) {
  const auto found = device.peak.find(std::string(precision.peak_key()));
  if (found == device.peak.end()) return std::nullopt;
  return found->second;
}

void add_scope(Report& report, const Resolved& resolved, const ModelSource& source, const Device* device) {
  std::vector<std::string>& scope = report.scope;
  scope.insert(scope.end(), source.reading.begin(), source.reading.end());
  if (source.architecture && !source.architecture->left_out.empty())
    scope.push_back(std::string(source.architecture->left_out));
  if (report.size_only)
    scope.push_back("only the size is known: no activations, no attention FLOPs, no peak; rules of thumb only");
  if (resolved.kv_bits) {
    scope.insert(
        scope.begin(),
        "inference: weights, the cache of keys and values, and what one pass over the prompt needs at once; FLOPs are "
        "of one forward pass over all tokens; no time");
    if (source.model && !report.memory.kv_cache && !report.memory.sequence_states)
      scope.push_back("nothing is kept from token to token: an encoder has no cache of keys and values");
    if (report.memory.sequence_states)
      scope.push_back(
          "states of recurrences: the convolutions' last inputs in the weights' dtype, the rest in float32, as fused "
          "kernels keep them");
  } else if (!report.size_only && device) {
    scope.push_back(device->compute_capability ? "memory: what kernels allocate for themselves"
                                               : "memory: all but the tensors; " + device->name +
                                                     " is no CUDA device, and what its runtime takes is not known");
  }
  if (resolved.run.mtp)
    scope.push_back(
        "multi-token prediction: the library builds these layers for drafting and trains none; here they see all "
        "tokens and share embedding and head, and their losses are added to the model's");
  if (!report.size_only && device && !device->compute_capability && report.time && report.time->basis == "roofline")
    scope.push_back("kernels: attention's kernel and the cost of a launch are taken from CUDA devices");
  if (device && report.time && report.time->basis == "measured") {
    const auto noisy = std::count_if(device->measured.begin(), device->measured.end(),
                                     [](const MeasuredWorkload& w) { return w.noisy; });
    if (noisy > 0)
      scope.push_back("measured rates: " + std::to_string(noisy) + " of " + std::to_string(device->measured.size()) +
                      " never settled, which the likely range leaves out; measure again on an idle machine");
  }
  if (source.model && source.model->info.max_seq > 0 && longest_document(resolved.run) > source.model->info.max_seq)
    scope.push_back(
        "the sequence is longer than the " + format_count(source.model->info.max_seq) +
        " tokens the model was made for: positions go on by formula, what it answers there is another matter");
  if (resolved.run.lora || resolved.run.dora || resolved.run.qlora)
    scope.push_back("adapters: as PEFT makes them; under autocast the frozen base is held in the 16-bit dtype");
  if (resolved.run.gpus > 1)
    scope.push_back("memory is one replica's, unsharded; time assumes communication between the replicas hides");
  if (report.time && report.time->basis == "roofline")
    scope.push_back("time: data loading and communication; the rates are published ones, which --explain names");
  if (report.cost && report.cost->energy_kwh)
    scope.push_back("energy: the board's power limit, without host and cooling");
}

}  // namespace

Report estimate(const ModelSource& source, const Device* device, const RunOptions& options) {
  const Resolved resolved = resolve(options, source, device);
  Report report;
  report.model.name = source.name;
  report.model.source = source.source;
  if (source.architecture) {
    report.model.architecture = std::string(source.architecture->name);
    report.model.status = std::string(name_of(source.architecture->status));
  }
  report.model.implementation_version = version_of(resolved.plan.job.implementation);
  for (const Fields::Assumed& assumed : source.assumed)
    report.model.assumed.push_back(assumed.key + " " + assumed.value);
  report.run = resolved.run;
  if (device) {
    report.device = Report::DeviceUsed{
        device->name, device->source, std::string(resolved.plan.precision->peak_key()), {}, resolved.run.gpus};
    if (const auto peak = device_peak(*device, *resolved.plan.precision)) report.device->peak = *peak;
  }
  add_parameters(report, source, resolved.plan);
  report.rule_6nd_per_token = checked::multiply<Count>(6, report.parameters.active);

  try {
    if (source.model) {
      AllocationLog log;
      std::size_t optimizer_begins = 0;
      const bool infers = resolved.kv_bits.has_value();
      const TracedStep step = infers ? trace_inference(*source.model, resolved.plan)
                                     : trace_step(*source.model, resolved.plan, &log, &optimizer_begins);
      const Count tokens = checked::multiply(resolved.run.batch, resolved.run.seq);
      report.flops = count_flops(step.trace, resolved.counting,
                                 checked::multiply(resolved.run.accumulate, resolved.run.gpus), tokens);
      report.flops->convention = resolved.run.attention_flops;
      apply_convention(*report.flops, resolved.run.attention_flops, *source.model, resolved.plan.job, step.trace,
                       checked::multiply(resolved.run.accumulate, resolved.run.gpus));
      report.memory = infers ? inference_memory(*source.model, resolved.plan, *resolved.kv_bits) : account_memory(step);
      add_bytes_per_parameter(report);
      if (experts_in_float32(resolved.plan, step))
        report.scope.push_back(
            "the experts' products run in float32: torch 2.15 has no autocast rule for _grouped_mm; --precision bf16 "
            "runs them in 16 bits");
      add_device_memory(
          report.memory,
          infers ? report.memory.peak : simulate_reserved(*source.model, resolved.plan, log, optimizer_begins), device);
      if (!report.memory.reserved)
        report.scope.push_back("the allocator's pool: so many layers allocate more often than is replayed");
      if (device) {
        if (device->usable_memory() > Bytes(0))
          report.fit = infers ? judge_inference(*source.model, resolved.plan, *resolved.kv_bits, report.memory, *device)
                              : judge_fit(*source.model, resolved.plan, step, report.memory, *device);
        if (!infers) add_time(report, resolved, *device, source.model.get(), &step);
      }
    } else {
      add_size_only_memory(report, resolved.plan);
      if (device) judge_size_only(report, *device);
      if (device && !resolved.kv_bits) add_time(report, resolved, *device, nullptr, nullptr);
    }
  } catch (const Overflow& overflow) {
    throw Error(Exit::bad_input, std::string("the job is too large to count exactly: ") + overflow.what(),
                "a smaller --batch, --seq or --accumulate");
  }
  if (device) {
    add_cost(report, resolved, *device);
    add_transfers(report, resolved, *device);
  }
  add_scope(report, resolved, source, device);
  return report;
}

}  // namespace llmcalc
