#include "core/op.hpp"

#include <array>

namespace llmcalc {
namespace {

// clang-format off
constexpr std::array<std::string_view, static_cast<std::size_t>(Op::checkpoint) + 1> names{
    "mm", "addmm", "bmm", "baddbmm", "grouped_mm", "convolution", "scan", "attention", "attention_backward",
    "add", "sub", "mul", "div", "neg", "pow", "rsqrt", "sqrt", "exp", "log", "tanh", "sigmoid", "silu", "gelu", "relu",
    "softplus", "clamp", "where", "cast", "copy", "fill", "sum", "mean", "max", "cos", "sin", "softmax", "log_softmax",
    "dropout", "layer_norm", "rms_norm", "gated_activation",
    "cat", "embedding", "gather", "scatter", "index", "topk", "sort", "cumsum", "nll_loss", "fused_cross_entropy",
    "optimizer",
    "view", "transpose", "expand", "slice", "split", "select", "permute", "accumulate", "checkpoint"};
// clang-format on

Flops attention_flops(Count flops_per_pair, const ScorePairs& pairs, AttentionCounting counting) {
  const Count twice = counting == AttentionCounting::full     ? pairs.full_twice
                      : counting == AttentionCounting::causal ? pairs.causal_twice
                                                              : pairs.exact_twice;
  // A pair costs an even number of FLOPs (multiply and add), so halving the doubled count stays exact.
  return Flops(checked::multiply<Int128>(flops_per_pair, twice) / 2);
}

}  // namespace

std::string_view name_of(Op op) { return names[static_cast<std::size_t>(op)]; }
bool is_matrix_product(Op op) { return op <= Op::attention_backward; }

bool is_fused_attention(Op op) { return op == Op::attention_forward || op == Op::attention_backward; }

std::string_view layout_of(const Launch& launch) {
  if (launch.m == 0) return "";
  if (launch.a_turned) return launch.b_turned ? "TT" : "TN";
  return launch.b_turned ? "NT" : "NN";
}

Flops model_flops(const Launch& l, AttentionCounting counting) {
  if (l.flops_per_pair) return attention_flops(l.model_flops_per_pair, l.pairs, counting) * l.repeat;
  // A multiply-add is 2 FLOPs.
  const Int128 macs =
      checked::multiply<Int128>(checked::multiply<Int128>(l.batch, l.m), checked::multiply<Int128>(l.n, l.k));
  return Flops(checked::multiply<Int128>(2, macs)) * l.repeat;
}

Flops executed_flops(const Launch& l, AttentionCounting counting) {
  if (l.flops_per_pair)
    return attention_flops(l.flops_per_pair, l.pairs, l.skips_masked ? counting : AttentionCounting::full) * l.repeat;
  return model_flops(l, counting);
}

Flops least_flops(const Launch& launch) {
  Launch one = launch;
  one.repeat = 1;
  return executed_flops(one, AttentionCounting::causal_exact);
}

}  // namespace llmcalc
