// Linear layers whose weight is frozen: with low-rank matrices beside it, or packed in 4 bits.
#pragma once

#include "core/trace.hpp"

namespace llmcalc {

// The adapter of a weight that is a parameter; nullptr when it has none.
const AdapterLeaf* adapter_of(const Trace& t, const Tensor& weight);

// x W^T + bias for a packed W (out, in), or x W + bias for one stored as (in, out), in the dtype of x: unpacked for the
// product, and again for the gradient of x; keeps nothing but the packed weight (bitsandbytes' MatMul4Bit).
Tensor packed_linear(Trace& t, const Tensor& x, const Tensor& weight, const Tensor* bias, bool stored_in_out,
                     DType computes);

// The frozen layer whose result is `y`, with its adapter: PEFT's lora.Linear and lora.Linear4bit.
struct FrozenLinear {
  const Tensor& weight;
  const Tensor* bias;
  bool stored_in_out;
};
Tensor with_adapter(Trace& t, Tensor y, const Tensor& x, const FrozenLinear& layer, const AdapterLeaf& adapter);

}  // namespace llmcalc
