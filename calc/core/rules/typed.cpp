// The rules for code that has values already: the same templates on exact numbers and doubles.
#include <limits>

#include "core/rules.hpp"
#include "core/rules/formulas.hpp"

namespace llmcalc {
namespace {

Flops flops(const Number& exact) { return Flops(exact.integer()); }

Bytes bytes(const Number& exact) {
  const Int128 value = exact.integer();
  if (value > std::numeric_limits<Count>::max()) throw Overflow("a size in bytes is too large");
  return Bytes(static_cast<Count>(value));
}

}  // namespace

Flops rule_6nd(Count parameters, Count tokens) { return flops(rule::six_nd<Number>(parameters, tokens)); }
Flops rule_2nd(Count parameters, Count tokens) { return flops(rule::two_nd<Number>(parameters, tokens)); }
Flops rule_4nd(Count parameters, Count tokens) { return flops(rule::four_nd<Number>(parameters, tokens)); }
Flops rule_matmul(Count m, Count n, Count k) { return flops(rule::matmul_flops<Number>(m, n, k)); }

Bytes rule_16n(Count parameters) {
  constexpr int fp32 = 4;  // bytes; AdamW keeps two moments of it
  return bytes(rule::training_state<Number>(parameters, fp32, fp32, 0, 2 * fp32));
}

Bytes rule_training_state(Count parameters, Bytes per_parameter) {
  return bytes(rule::product_of<Number>(parameters, per_parameter.value()));
}

Bytes rule_kv_cache_per_token(Count layers, Count kv_heads, Count head_dim, Bytes per_value) {
  return bytes(rule::kv_cache_per_token<Number>(layers, kv_heads, head_dim, per_value.value()));
}

FlopsPerByte rule_ridge(FlopsPerSecond peak, BytesPerSecond bandwidth) {
  return FlopsPerByte(rule::quotient(peak.value(), bandwidth.value()));
}

FlopsPerSecond rule_roofline(FlopsPerSecond peak, BytesPerSecond bandwidth, FlopsPerByte intensity) {
  return FlopsPerSecond(rule::roofline(peak.value(), intensity.value(), bandwidth.value()));
}

Seconds rule_roofline_time(Flops flops, Bytes bytes, FlopsPerSecond peak, BytesPerSecond bandwidth) {
  return Seconds(rule::roofline_time(flops.as_double(), bytes.as_double(), peak.value(), bandwidth.value()));
}

double rule_mfu(FlopsPerSecond achieved, Count devices, FlopsPerSecond peak) {
  return rule::mfu(achieved.value(), static_cast<double>(devices), peak.value());
}

Seconds rule_training_time(Flops flops, Count devices, FlopsPerSecond peak, double mfu) {
  return Seconds(rule::training_time(flops.as_double(), static_cast<double>(devices), peak.value(), mfu));
}

double rule_cost(Seconds time, Count devices, DollarsPerHour price) {
  constexpr double seconds_per_hour = 3600;
  return rule::cost(time.value(), static_cast<double>(devices), price.value() / seconds_per_hour);
}

}  // namespace llmcalc
