// Small graphs for tests of the engine: leaves of given shapes, what a trace kept, what is alive.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/trace.hpp"

namespace llmcalc::test {

inline LeafSpec leaf(const Dims& shape, DType dtype = DType::float32, bool trainable = true) {
  return {shape, dtype, trainable};
}

inline Count live(const Trace& t, Part part) { return t.ledger.parts()[static_cast<std::size_t>(part)].value(); }

// Bytes kept for backward so far, each storage once, without autocast's copies.
inline Count kept_bytes(const Trace& t) {
  Count sum = 0;
  for (const KeptRecord& kept : t.kept())
    if (kept.first && kept.part == Part::saved) sum += kept.storage.value() * kept.repeat;
  return sum;
}

// FLOPs of matrix products by pass.
inline Count product_flops(const Trace& t, Pass pass) {
  Count sum = 0;
  for (const Launch& l : t.tape())
    if (l.pass == pass && is_matrix_product(l.op))
      sum += static_cast<Count>(executed_flops(l, AttentionCounting::full).value());
  return sum;
}

}  // namespace llmcalc::test
