// Matrix products, as PyTorch lowers them: `linear` to mm or addmm on flattened rows, batched `matmul` to bmm on copies
// where a view is not ready for it. Under autocast the operands are cast first.
#pragma once

#include <optional>

#include "core/trace.hpp"

namespace llmcalc {

// (m, k) x (k, n).
Tensor mm(Trace& t, const Tensor& a, const Tensor& b);
// bias (n) + (m, k) x (k, n).
Tensor addmm(Trace& t, const Tensor& bias, const Tensor& a, const Tensor& b);
// (b, m, k) x (b, k, n). With `pairs`, one of attention's two products: its FLOPs follow the pairs that are scored.
Tensor bmm(Trace& t, const Tensor& a, const Tensor& b, const std::optional<ScorePairs>& pairs = {});

// torch.matmul for operands of two or more axes each.
Tensor matmul(Trace& t, const Tensor& a, const Tensor& b, const std::optional<ScorePairs>& pairs = {});

// x (..., in) by weight (out, in), plus bias (out). The weight is stored as (out, in), the formula is x W^T.
Tensor linear(Trace& t, const Tensor& x, const Tensor& weight, const Tensor* bias = nullptr);
// x (..., in) by weight (in, out), plus bias (out): GPT-2's Conv1D.
Tensor conv1d_linear(Trace& t, const Tensor& x, const Tensor& weight, const Tensor& bias);

}  // namespace llmcalc
