// What an accelerator can do at most, as its profile states it (hardware/*.yaml).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/diagnostics.hpp"
#include "core/units.hpp"

namespace llmcalc {

// What peaks are re-derived from: units x clock x FLOPs per clock of a rate class (rate_classes.hpp).
struct ComputeUnits {
  Count count = 0;  // SMs, CUs, cores: what the rate class counts per
  Hertz clock;
  std::optional<Hertz> vector_clock;  // of fp32 and fp64 where a vendor states those at another clock
  std::string rate_class;
};

// One workload as `llmcalc measure` found it (times in seconds).
struct MeasuredWorkload {
  std::string workload;  // matmul, copy, triad, ...
  std::string dtype;
  std::map<std::string, Count> dimensions;  // m, n, k, batch, elements, ...
  Flops flops;
  Bytes bytes;  // read + written
  bool verified = false;
  bool noisy = false;
  Count samples = 0;
  Seconds median, p5, p95;
  std::string variant;          // which code did it: openblas, vectorised, non-temporal, ...
  std::string layout;           // of a product's operands, A's first: N row by row, T column by column
  std::string span;             // burst (the first moments after idling), sustained (after a while); else empty
  std::string op;               // of a model's step: the operation ("addmm"); empty for the harness's own workloads
  std::string operation;        // and where it stands: "layers.mlp.c_fc addmm forward"
  Count times = 1;              // how often one step runs it
  Count portion = 1;            // it was run on 1/portion of the data, and its time multiplied
  std::string state;            // cold: nothing of it was in a cache; cached: all of it may have been
  std::string stop;             // why sampling ended: settled, time up, interrupted
  std::string problem;          // why it is not verified
  Seconds minimum, cpu_median;  // cpu_median: of the slowest thread's own clock; 0 where there is none
  double noise = 0;             // half the 95 % interval of the median, as a share of it
  Count disturbed = 0;          // samples during which another program took the processor

  // Between a host's memory and a device's.
  bool crosses_link() const {
    return workload == "host_to_device" || workload == "device_to_host" || workload == "both_directions";
  }
  bool is_attention() const { return workload == "attention" || workload == "attention_backward"; }
  // Of a copy: what is read and written counts once.
  Bytes payload() const { return Bytes(bytes.value() / 2); }
};

// One way to move data, over a range of sizes: it takes latency + payload / rate.
struct MeasuredTransfer {
  std::string workload, variant;  // host_to_device, pinned
  Seconds latency;
  BytesPerSecond rate;  // of the payload, which is counted once
  Count sizes = 0;      // that were measured
  double misfit = 0;    // the furthest one is off, as a share of its time
};

struct Device {
  std::string id;      // file name without .yaml; empty for a file given by path
  std::string source;  // path or "built-in"
  std::string name;
  std::vector<std::string> aliases;
  std::optional<double> compute_capability;  // 9.0
  std::optional<ComputeUnits> units;
  Bytes memory_capacity;                // on the label; 0: not stated (a CPU's depends on the machine)
  std::optional<Bytes> memory_visible;  // what the driver hands out
  std::optional<BytesPerSecond> memory_bandwidth;
  std::optional<Bytes> l2;
  std::map<std::string, FlopsPerSecond>
      peak;  // dense, fp32 accumulate unless the key says otherwise: bf16, fp16, tf32, fp32, fp8, ...
  std::map<std::string, std::string> waived;  // key -> why a stated figure rightly disagrees with the derived one
  std::optional<BytesPerSecond> nvlink_per_direction;
  std::map<std::string, BytesPerSecond> other_links;  // per direction to all peers: xgmi, ici, roce, neuronlink
  std::optional<int> pcie_generation, pcie_lanes;
  std::optional<Watts> power;
  std::optional<DollarsPerHour> price;
  std::string price_as_of;
  std::map<std::string, std::string> sources;
  std::map<std::string, std::string> measured_method;
  std::vector<MeasuredWorkload> measured;
  std::vector<MeasuredTransfer> transfers;

  // Memory a job can use: what the driver shows where it is known, else the label.
  Bytes usable_memory() const { return memory_visible.value_or(memory_capacity); }
};

}  // namespace llmcalc
