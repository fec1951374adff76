// What one launch takes on a device: at the roofline, and as far as published or measured rates tell.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/device.hpp"
#include "core/passes/step.hpp"

namespace llmcalc {

// The key of the peak that a launch of that dtype runs under: "bf16", "tf32", ...
std::string_view peak_key_for(DType dtype, bool tf32);

// Computing and moving data overlap; the longer one rules. All repeats of the launch together.
struct LaunchTime {
  Seconds compute, memory;
  Seconds longer() const { return compute > memory ? compute : memory; }
};

class Rates {
 public:
  // `why_not` is set (and nothing else may be asked) when the device states no bandwidth or no peak for the recipe.
  Rates(const Device& device, const StepPlan& plan, AttentionCounting counting);

  std::string why_not;
  std::string basis;    // "roofline": published shares of the stated peaks; "measured": the profile's own measurements
  std::string source;   // the shares and who measured them, in words
  Seconds launch_cost;  // of one kernel in a stream

  // At the stated peak and bandwidth.
  LaunchTime least(const Launch& launch) const;
  // At what programs reach; without the cost of launching.
  LaunchTime expected(const Launch& launch) const;

  FlopsPerSecond peak(const Launch& launch) const;
  BytesPerSecond bandwidth() const { return *device_->memory_bandwidth; }
  BytesPerSecond copy_rate() const { return copy_rate_; }
  double matmul_share() const { return matmul_share_; }
  // Whether a pass of fused attention was measured that predicts this one.
  bool measured_attention(const Launch& launch) const { return measured_attention_rate(launch) > 0; }

 private:
  struct MeasuredMatmul {
    std::string key;
    double batch, m, n, k, rate, shape;  // `shape`: what shape_efficiency says about it
  };

  struct MeasuredAttention {
    std::string key, op;
    double heads, length, qk_size, v_size, rate;  // heads of all sequences together
  };

  double measured_attention_rate(const Launch& launch) const;
  double matmul_rate(const Launch& launch) const;
  double measured_rate(const Launch& launch, std::string_view key, double shape) const;
  void read_measurements();

  const Device* device_;
  bool tf32_;
  AttentionCounting counting_;
  FlopsPerSecond main_peak_;
  std::string main_key_;
  double matmul_share_ = 0, attention_share_ = 0;
  BytesPerSecond copy_rate_;
  std::vector<MeasuredMatmul> measured_;
  std::vector<MeasuredAttention> measured_attention_;
};

}  // namespace llmcalc
