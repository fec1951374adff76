#include "core/step_operations.hpp"

#include <map>
#include <tuple>

#include "core/passes/rates.hpp"

namespace llmcalc {
namespace {

Count dimension(const MeasuredWorkload& w, const char* name, Count otherwise) {
  const auto found = w.dimensions.find(name);
  return found == w.dimensions.end() ? otherwise : found->second;
}

}  // namespace

bool is_attention_of(const MeasuredWorkload& w, const Launch& launch) {
  const AttentionShape& s = launch.attention;
  // Sequences and heads are the same to a kernel.
  return w.flops == least_flops(launch) && dimension(w, "batch", 0) * dimension(w, "heads", 0) == s.batch * s.heads &&
         dimension(w, "batch", 0) * dimension(w, "kv_heads", 0) == s.batch * s.kv_heads &&
         dimension(w, "length", 0) == s.length && dimension(w, "qk_size", 0) == s.qk_size &&
         dimension(w, "v_size", 0) == s.v_size;
}

std::vector<StepOperation> distinct_operations(const Trace& trace, Count accumulate) {
  std::vector<StepOperation> operations;
  using Key = std::tuple<Op, DType, Count, Count, Count, Count, Count, Count, Count, Int128, std::string_view>;
  std::map<Key, std::size_t> known;
  for (const Launch& l : trace.tape()) {
    const Key key{l.op,
                  l.dtype,
                  l.batch,
                  l.m,
                  l.n,
                  l.k,
                  l.read.value(),
                  l.written.value(),
                  l.flops_per_pair,
                  least_flops(l).value(),
                  layout_of(l)};
    const auto [at, added] = known.emplace(key, operations.size());
    if (added) {
      operations.push_back({l, trace.modules()[l.module], 0});
      operations.back().launch.repeat = 1;
    }
    Count& times = operations[at->second].times;
    times = checked::add(times, checked::multiply(l.repeat, l.pass == Pass::optimizer ? 1 : accumulate));
  }
  return operations;
}

bool is_measurement_of(const MeasuredWorkload& w, const Launch& launch, bool tf32) {
  if (w.op != name_of(launch.op) || dimension(w, "read", -1) != launch.read.value() ||
      dimension(w, "written", -1) != launch.written.value())
    return false;
  if (!is_matrix_product(launch.op)) return true;
  if (is_fused_attention(launch.op)) return w.dtype == peak_key_for(launch.dtype, tf32) && is_attention_of(w, launch);
  // Profiles without a layout are from a time when all operands lay row by row.
  if (launch.m > 0 && layout_of(launch) != (w.layout.empty() ? "NN" : w.layout)) return false;
  return w.dtype == peak_key_for(launch.dtype, tf32) && dimension(w, "batch", 1) == launch.batch &&
         dimension(w, "m", 0) == launch.m && dimension(w, "n", 0) == launch.n && dimension(w, "k", 0) == launch.k;
}

}  // namespace llmcalc
