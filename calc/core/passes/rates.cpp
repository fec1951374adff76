#include "core/passes/rates.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/achieved_rates.hpp"
#include "core/matmul_shape.hpp"
#include "core/quantity.hpp"

namespace llmcalc {
namespace {

// 64 KiB kernels queued back to back on an H200 (te42kyfo/gpu-benches, gpu-small-kernels).
constexpr double usual_launch_cost = 2.5e-6;
// Attention's backward pass against its forward pass: 63 % and 73 % of the A100's peak (FlashAttention-2; remembered).
constexpr double backward_of_forward = 63.0 / 73.0;
// A measured copy tells memory's rate only when it does not stay in the cache.
constexpr Count caches_full = 4;

FlopsPerSecond peak_named(const Device& device, std::string_view key, FlopsPerSecond otherwise) {
  const auto found = device.peak.find(std::string(key));
  return found == device.peak.end() ? otherwise : found->second;
}

Count dimension(const MeasuredWorkload& w, const char* name, Count otherwise) {
  const auto found = w.dimensions.find(name);
  return found == w.dimensions.end() ? otherwise : found->second;
}

double distance(double a, double b) { return std::abs(std::log(a / b)); }

}  // namespace

std::string_view peak_key_for(DType dtype, bool tf32) {
  switch (dtype) {
    case DType::bfloat16: return "bf16";
    case DType::float16: return "fp16";
    default: return tf32 ? "tf32" : "fp32";
  }
}

Rates::Rates(const Device& device, const StepPlan& plan, AttentionCounting counting)
    : device_(&device), tf32_(plan.precision->tf32), counting_(counting), main_key_(plan.precision->peak_key()) {
  main_peak_ = peak_named(device, main_key_, FlopsPerSecond(0));
  if (main_peak_ == FlopsPerSecond(0)) {
    why_not = device.name + " states no " + main_key_ + " peak";
    return;
  }
  if (!device.memory_bandwidth || !(*device.memory_bandwidth > BytesPerSecond(0))) {
    why_not = device.name + " states no memory bandwidth";
    return;
  }
  const Achieved matmul = achieved_matmul(device, main_key_), copy = achieved_copy(device);
  const Achieved attention = achieved_attention(device, plan.job.attention == AttentionKernel::cudnn);
  matmul_share_ = matmul.share;
  attention_share_ = attention.share;
  copy_rate_ = *device.memory_bandwidth * copy.share;
  launch_cost = Seconds(usual_launch_cost);
  basis = "roofline";
  source = "large " + main_key_ + " products at " + format_percent(matmul.share) + " of the peak (" + matmul.source +
           "), fused attention at " + format_percent(attention.share) + " (" + attention.source + "), copies at " +
           format_percent(copy.share) + " of the bandwidth (" + copy.source + ")";
  read_measurements();
}

void Rates::read_measurements() {
  Count largest = 0;
  bool main_dtype = false;
  for (const MeasuredWorkload& w : device_->measured) {
    // Training goes on for longer than a burst.
    if (!w.verified || !(w.median > Seconds(0)) || w.span == "burst") continue;
    const Count m = dimension(w, "m", 0), n = dimension(w, "n", 0), k = dimension(w, "k", 0);
    if (w.workload == "matmul" && m > 0 && n > 0 && k > 0) {
      const Count batch = dimension(w, "batch", 1);
      const MatmulShape shape{batch, m, n, k};
      const MeasuredMatmul one{w.dtype,
                               static_cast<double>(batch),
                               static_cast<double>(m),
                               static_cast<double>(n),
                               static_cast<double>(k),
                               (w.flops / w.median).value(),
                               shape_efficiency(*device_, w.dtype, shape)};
      // Several programs may have computed one product: the fastest is what a program can reach.
      const auto same = std::find_if(measured_.begin(), measured_.end(), [&](const MeasuredMatmul& other) {
        return other.key == one.key && other.batch == one.batch && other.m == one.m && other.n == one.n &&
               other.k == one.k;
      });
      if (same == measured_.end())
        measured_.push_back(one);
      else
        same->rate = std::max(same->rate, one.rate);
      main_dtype = main_dtype || w.dtype == main_key_;
    }
    if (w.is_attention()) {
      const auto size = [&](const char* name) { return static_cast<double>(dimension(w, name, 1)); };
      measured_attention_.push_back({w.dtype, w.workload, size("batch") * size("heads"), size("length"),
                                     size("qk_size"), size("v_size"), (w.flops / w.median).value()});
    }
    // What says of itself that it was cold went through more memory than one pass.
    const bool in_cache = w.state.empty() ? device_->l2 && w.bytes < caches_full * *device_->l2 : w.state != "cold";
    if (w.workload == "copy" && !in_cache && w.bytes.value() > largest) {
      largest = w.bytes.value();
      copy_rate_ = w.bytes / w.median;
    }
    if (w.workload == "launch" && (w.variant.empty() || w.variant == "queued")) launch_cost = w.median;
  }
  if (!main_dtype || largest == 0) return;
  basis = "measured";
  const auto attention_is_measured = [&](Op op) {
    return std::any_of(measured_attention_.begin(), measured_attention_.end(),
                       [&](const MeasuredAttention& one) { return one.key == main_key_ && one.op == name_of(op); });
  };
  source = "products as measured on this device, each at the nearest shape; ";
  if (attention_is_measured(Op::attention_forward) && attention_is_measured(Op::attention_backward))
    source += "fused attention as measured, between the nearest lengths; ";
  source += "memory at the measured copy's " + format_rate(copy_rate_);
}

FlopsPerSecond Rates::peak(const Launch& launch) const {
  return peak_named(*device_, peak_key_for(launch.dtype, tf32_), main_peak_);
}

LaunchTime Rates::least(const Launch& launch) const {
  LaunchTime time;
  time.memory = (launch.read + launch.written) * launch.repeat / *device_->memory_bandwidth;
  if (is_matrix_product(launch.op)) time.compute = executed_flops(launch, counting_) / peak(launch);
  return time;
}

LaunchTime Rates::expected(const Launch& launch) const {
  LaunchTime time;
  time.memory = (launch.read + launch.written) * launch.repeat / copy_rate_;
  if (!is_matrix_product(launch.op)) return time;
  double rate = 0;
  if (is_fused_attention(launch.op)) {
    if (const double measured = measured_attention_rate(launch); measured > 0) {
      // Measured rates are of the pairs that have to be scored.
      time.compute = executed_flops(launch, AttentionCounting::causal_exact) / FlopsPerSecond(measured);
      return time;
    }
    rate = peak(launch).value() * attention_share_;
    if (launch.op == Op::attention_backward) rate *= backward_of_forward;
  } else {
    rate = matmul_rate(launch);
  }
  time.compute = executed_flops(launch, counting_) / FlopsPerSecond(rate);
  return time;
}

double Rates::matmul_rate(const Launch& launch) const {
  const std::string_view key = peak_key_for(launch.dtype, tf32_);
  const MatmulShape shape{
      launch.batch, launch.m, launch.n, launch.k, launch.row_alignment, size_of(launch.dtype).value()};
  const double share = shape_efficiency(*device_, key, shape);
  const double measured = measured_rate(launch, key, share);
  if (measured > 0) return measured;
  const double achieved = key == main_key_ ? matmul_share_ : achieved_matmul(*device_, key).share;
  return peak(launch).value() * achieved * share;
}

// The rate of the measured product nearest in shape, scaled by what the two shapes can keep busy. 0: none.
double Rates::measured_rate(const Launch& l, std::string_view key, double share) const {
  double nearest = std::numeric_limits<double>::infinity(), rate = 0;
  for (const MeasuredMatmul& one : measured_) {
    if (one.key != key) continue;
    const double away = distance(static_cast<double>(l.m), one.m) + distance(static_cast<double>(l.n), one.n) +
                        distance(static_cast<double>(l.k), one.k) + distance(static_cast<double>(l.batch), one.batch);
    if (away >= nearest) continue;
    nearest = away;
    rate = one.rate * share / one.shape;
  }
  return rate;
}

// Between the nearest measured pass that is as long or shorter and the nearest longer one: beside what it does for each
// pair, a kernel works for each token (blocks that are masked in part, rows turned), so the time of a pair goes with
// 1 / length. Outside what was measured, the nearest. 0: none.
double Rates::measured_attention_rate(const Launch& l) const {
  const std::string_view key = peak_key_for(l.dtype, tf32_);
  const AttentionShape& s = l.attention;
  const auto size = [](Count count) { return static_cast<double>(count); };
  const double length = size(s.length);
  struct Nearest {
    const MeasuredAttention* pass = nullptr;
    double away = std::numeric_limits<double>::infinity();
  } shorter, longer;
  const auto is_alike = [&](const MeasuredAttention& one) {
    return one.key == key && one.op == name_of(l.op) && one.qk_size == size(s.qk_size) && one.v_size == size(s.v_size);
  };
  // Heads of another size have another rate; they stand in only where none of this size was measured.
  const bool some_alike = std::any_of(measured_attention_.begin(), measured_attention_.end(), is_alike);
  for (const MeasuredAttention& one : measured_attention_) {
    if (s.length == 0 || one.key != key || one.op != name_of(l.op) || (some_alike && !is_alike(one))) continue;
    const double away = distance(size(s.batch) * size(s.heads), one.heads) + distance(length, one.length) +
                        distance(size(s.qk_size), one.qk_size) + distance(size(s.v_size), one.v_size);
    Nearest& nearest = one.length > length ? longer : shorter;
    if (away < nearest.away) nearest = {&one, away};
  }
  if (!shorter.pass || !longer.pass) {
    const MeasuredAttention* only = shorter.pass ? shorter.pass : longer.pass;
    return only ? only->rate : 0;
  }
  const double from = 1 / longer.pass->length, to = 1 / shorter.pass->length, share = (1 / length - from) / (to - from);
  return 1 / (share / shorter.pass->rate + (1 - share) / longer.pass->rate);
}

}  // namespace llmcalc
