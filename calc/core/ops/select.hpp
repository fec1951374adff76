// Operations that choose or limit elements, and a few more functions of one element.
//
// What each keeps: `clamp` and `minimum` their input, `where` and `masked_fill` the condition, an index by a list the
// index (int64), `exp`-like functions and `sqrt` their output, `softplus` its input.
#pragma once

#include "core/trace.hpp"

namespace llmcalc {

Tensor clamp(Trace& t, const Tensor& x);
Tensor minimum(Trace& t, const Tensor& x);  // with a stored number
Tensor greater(Trace& t, const Tensor& x);  // boolean, without a gradient
Tensor where(Trace& t, const Tensor& condition, const Tensor& a, const Tensor& b);
// nullptr: the mask is a buffer of the model, on the books already.
Tensor masked_fill(Trace& t, const Tensor& x, const Tensor* mask);
Tensor expm1(Trace& t, const Tensor& x);
Tensor softplus(Trace& t, const Tensor& x);
Tensor sqrt(Trace& t, const Tensor& x);

Tensor max_last(Trace& t, const Tensor& x);  // over the last axis, kept with length 1; keeps the int64 indices

// x[..., [index], :] along `axis`: a copy of one row, the axis kept.
Tensor index_one(Trace& t, const Tensor& x, int axis, Count index);

// a += b: b's gradient and a's are the same, no new storage.
Tensor add_in_place(Trace& t, const Tensor& a, const Tensor& b);
// x /= number
Tensor div_in_place(Trace& t, const Tensor& x, double number);

}  // namespace llmcalc
