#include "core/passes/time.hpp"

#include <algorithm>
#include <string>

namespace llmcalc {

std::optional<FlopsPerSecond> peak_for(const Device& device, DType dtype, bool tf32) {
  std::string key = "fp32";
  if (dtype == DType::bfloat16) key = "bf16";
  if (dtype == DType::float16) key = "fp16";
  if (dtype == DType::float32 && tf32) key = "tf32";
  const auto found = device.peak.find(key);
  if (found == device.peak.end()) return std::nullopt;
  return found->second;
}

std::optional<Seconds> least_step_time(const Trace& trace, const Device& device, const Precision& precision, Count accumulate,
                                       AttentionCounting counting) {
  if (!device.memory_bandwidth) return std::nullopt;
  double sum = 0;
  for (const Launch& l : trace.tape()) {
    const double bytes = (l.read + l.written).as_double() * static_cast<double>(l.repeat);
    double seconds = bytes / device.memory_bandwidth->value();
    if (is_matrix_product(l.op)) {
      const std::optional<FlopsPerSecond> peak = peak_for(device, l.dtype, precision.tf32);
      if (!peak) return std::nullopt;
      seconds = std::max(seconds, executed_flops(l, counting).as_double() / peak->value());
    }
    sum += seconds * (l.pass == Pass::optimizer ? 1.0 : static_cast<double>(accumulate));
  }
  return Seconds(sum);
}

}  // namespace llmcalc
