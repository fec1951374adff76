// What an estimate found. The writers in calc/report show it; nothing here formats.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/node.hpp"
#include "core/parameters.hpp"
#include "core/trace.hpp"
#include "core/units.hpp"

namespace llmcalc {

// Every option of the job as it was run (names as on the command line).
struct ResolvedRun {
  std::string mode = "train";
  Count batch = 1, seq = 1, accumulate = 1, gpus = 1;
  std::vector<Count> lengths;
  std::optional<Count> tokens;
  std::string precision, optimizer, optimizer_step, implementation, attention, recompute, loss, attention_flops;
  std::string attention_why;  // why `auto` chose the kernel
  std::optional<double> dropout, mfu, price;
  std::optional<std::string> lora, dora, qlora, freeze, kv_dtype, as_family;
  bool mtp = false, expandable_segments = false;
  std::vector<std::string> assumed;  // options nobody gave, "batch 1", "precision amp-bf16", in the order of the table
};

struct OperationFlops {
  std::string operation;  // "layers.self_attn.q_proj"
  Count count = 0;        // launches in the forward pass of one step
  Flops forward, backward;
};

struct FlopsReport {
  std::string convention;  // causal | causal-exact | full | a named one
  // One optimizer step on all devices.
  Flops forward, backward, recompute, model, hardware;
  Flops elementwise;
  Flops model_full, model_causal;  // model FLOPs with attention counted the other ways
  Flops attention;                 // of the model FLOPs: scores and weighted sums
  Flops recurrence;                // of the model FLOPs: short convolutions and recurrences
  Flops masked_pairs;              // executed beyond the convention, because a kernel computes masked pairs too
  Flops scores_again;              // executed to compute the scores once more in attention's backward pass
  bool attention_is_causal = false;
  double forward_per_token = 0, model_per_token = 0;
  std::vector<OperationFlops> by_operation;  // heaviest first
};

struct PhaseReport {
  Phase phase;
  Bytes peak;
  std::vector<std::pair<Part, Bytes>> parts;  // non-zero ones; they add up to the peak
};

struct MemoryReport {
  // Sizes on one device; not a sum.
  Bytes parameters, gradients, master_weights, optimizer_states, buffers, inputs;
  std::optional<Bytes> saved_for_backward, autocast_weights, autocast_cache, kv_cache, sequence_states;
  std::vector<PhaseReport> phases;  // empty for a model known only by its size
  Bytes peak;
  std::optional<Phase> peak_phase;
  std::optional<Bytes> reserved, framework, device_total;
  std::string framework_note;        // range and source of `framework`
  std::vector<KeptRecord> kept;      // for --explain
  std::vector<std::string> modules;  // names for kept[i].module
};

enum class Verdict : unsigned char { fits, tight, no };

struct Advice {
  std::string change;  // "--recompute full"
  Bytes saves;
  std::string costs;              // "+31 % FLOPs"
  Verdict verdict = Verdict::no;  // the job's with this change alone
};

struct FitReport {
  Bytes capacity;
  Verdict verdict = Verdict::fits;
  Count headroom = 0;  // bytes; negative when it does not fit
  std::optional<Count> max_batch, max_seq;
  std::vector<Advice> advice;
  std::string note;  // what no change of these helps against
};

// Of a training step on a device whose peak is known. A step's length comes with FLOPs.
struct TimeReport {
  std::string basis;                              // mfu | roofline | measured
  std::optional<Seconds> step, lower_bound_step;  // absent for a model known only by its size
  std::optional<std::pair<Seconds, Seconds>> band;
  double tokens_per_second = 0, mfu = 0, hfu = 0;
  std::optional<Count> steps;
  std::optional<Seconds> training;
  // Of a step from the roofline or from measurements: parts that add up to it, how many kernels it launches, and where
  // the rates are from.
  std::vector<std::pair<std::string, Seconds>> parts;
  Count kernels = 0;
  std::string rates;
};

// Token ids on their way to one device, for one step.
struct InputReport {
  Bytes per_step;
  Seconds pinned, pageable;  // from page-locked and from ordinary host memory
  bool hidden = false;       // even from ordinary memory it takes less than the step
};

// Weights, master copies and optimizer states of one replica.
struct CheckpointReport {
  Bytes bytes;
  Seconds write;  // at `rate`
  BytesPerSecond rate;
};

struct CostReport {
  double device_hours = 0;
  std::optional<double> usd, energy_kwh;
};

struct Report {
  struct {
    std::string name, source, architecture, status, implementation_version;
    std::vector<std::string> assumed;  // keys the profile leaves out, "head_dim 128"
  } model;
  struct DeviceUsed {
    std::string name, source, peak_key;
    FlopsPerSecond peak;
    Count count = 1;
  };
  std::optional<DeviceUsed> device;
  ResolvedRun run;
  ParameterCounts parameters;
  bool size_only = false;  // a profile with `parameters:` alone
  bool mixture_of_experts = false;
  std::optional<FlopsReport> flops;
  Count rule_6nd_per_token = 0;  // 6 x total, or 6 x active for a mixture of experts
  // Of weights, gradients, master copies and optimizer states; absent where states depend on unknown shapes.
  std::optional<double> rule_bytes_per_parameter;
  MemoryReport memory;
  std::optional<FitReport> fit;
  std::optional<TimeReport> time;
  std::optional<CostReport> cost;
  std::optional<InputReport> input;
  std::optional<CheckpointReport> checkpoint;
  std::vector<std::string> scope;  // what the numbers leave out; first of all, if there is no time, why
};

}  // namespace llmcalc
