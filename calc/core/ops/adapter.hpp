// Linear layers whose weight is frozen: with low-rank matrices beside it, or packed in 4 bits.
#pragma once

#include "core/trace.hpp"

namespace llmcalc {

// The adapter of a weight that is a parameter; nullptr when it has none.
const AdapterLeaf* adapter_of(const Trace& t, const Tensor& weight);

// x W^T for a packed W (out, in), or x W for one stored as (in, out): unpacked for the product, and again for the
// gradient of x; keeps nothing but the packed weight (bitsandbytes' MatMul4Bit).
Tensor packed_linear(Trace& t, const Tensor& x, const Tensor& weight, bool stored_in_out, DType computes);

// y + s B A dropout(x), as PEFT's lora.Linear: x in the dtype of A.
Tensor with_low_rank(Trace& t, const Tensor& y, const Tensor& x, const AdapterLeaf& adapter, bool stored_in_out);

}  // namespace llmcalc
