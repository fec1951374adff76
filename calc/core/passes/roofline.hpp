// A device's ceilings, and the operations of a step under them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/passes/rates.hpp"

namespace llmcalc {

// One limit: either a compute rate or a memory rate.
struct Ceiling {
  std::string name;   // "bf16 peak", "memory bandwidth", "bf16 measured"
  std::string dtype;  // of a compute rate: the peak's key
  std::optional<FlopsPerSecond> compute;
  std::optional<BytesPerSecond> memory;
  bool measured = false;
};

// Compute ceilings from the highest down, then memory; what the profile's measurements found comes last.
std::vector<Ceiling> ceilings(const Device& device);

// The intensity from which on a peak, not the memory, is the limit; empty where the device states no bandwidth.
std::map<std::string, FlopsPerByte> ridge_points(const Device& device);

enum class Bound : unsigned char { memory, compute };
std::string_view name_of(Bound bound);

// One point under one roof: `attainable` = min(peak, intensity * bandwidth).
struct RooflinePoint {
  FlopsPerByte ridge, intensity;
  FlopsPerSecond attainable;
  Bound bound = Bound::memory;
};
RooflinePoint roofline_point(FlopsPerSecond peak, BytesPerSecond bandwidth, FlopsPerByte intensity);

// All launches of one operation in one module and one pass, in one optimizer step on one device.
struct RooflineOperation {
  std::string module;  // "layers.mlp.down_proj"; empty for what belongs to none
  Op op = Op::add;
  Pass pass = Pass::forward;
  std::string dtype;  // key of the peak it is judged by; empty where no matrix product is involved
  Count count = 0;    // launches
  Flops flops;        // of products what is executed; else element-wise ones
  Bytes bytes;
  Bound bound = Bound::memory;
  Seconds time;      // at least
  Seconds expected;  // at the rates programs reach, with launching
  double share = 0;  // of the step's least time

  FlopsPerByte intensity() const { return bytes > Bytes(0) ? flops / bytes : FlopsPerByte(0); }
  FlopsPerSecond attainable() const { return time > Seconds(0) ? flops / time : FlopsPerSecond(0); }
};

struct RooflineSteps {
  std::vector<RooflineOperation> operations;  // the longest first
  Seconds least, expected;
};

std::string_view name_of(Pass pass);

// `rates.why_not` must be empty.
RooflineSteps operations_under_roof(const TracedStep& step, const Model& model, const StepPlan& plan,
                                    const Rates& rates, AttentionCounting counting);

}  // namespace llmcalc
