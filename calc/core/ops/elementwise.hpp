// Element-wise operations and the reductions that undo broadcasting.
//
// What each keeps for its backward pass follows PyTorch's tools/autograd/derivatives.yaml: `mul` the factor whose
// partner needs a gradient, `pow` and activations like silu their input, `tanh` and `rsqrt` their output, `add`
// nothing. A Python number keeps nothing.
#pragma once

#include "core/trace.hpp"

namespace llmcalc {

Tensor add(Trace& t, const Tensor& a, const Tensor& b);
Tensor add(Trace& t, const Tensor& a, double number);
Tensor sub(Trace& t, const Tensor& a, const Tensor& b);
Tensor mul(Trace& t, const Tensor& a, const Tensor& b);
Tensor mul(Trace& t, const Tensor& a, double number);
Tensor div(Trace& t, const Tensor& a, const Tensor& b);
Tensor div(Trace& t, const Tensor& a, double number);
Tensor neg(Trace& t, const Tensor& x);
Tensor pow(Trace& t, const Tensor& x, double exponent);  // in float32 under autocast
Tensor rsqrt(Trace& t, const Tensor& x);                 // in float32 under autocast
Tensor tanh(Trace& t, const Tensor& x);
Tensor sigmoid(Trace& t, const Tensor& x);
Tensor silu(Trace& t, const Tensor& x);
Tensor gelu(Trace& t, const Tensor& x);  // torch's own, exact or tanh form
Tensor relu(Trace& t, const Tensor& x);

// One kernel of `flops` operations an element over `operands`, without a node: what backward functions are made of.
Tensor pointwise(Trace& t, Op op, const Few<const Tensor*, 4>& operands, Count flops = 1);

// Mean over the last axis, kept with length 1.
Tensor mean_last(Trace& t, const Tensor& x);
// Sums over the axes that broadcasting added or stretched. `x` itself when the shape is right.
Tensor sum_to(Trace& t, const Tensor& x, const Dims& shape);

}  // namespace llmcalc
