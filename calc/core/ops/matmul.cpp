#include "core/ops/matmul.hpp"

#include <algorithm>
#include <stdexcept>

#include "core/ops/adapter.hpp"
#include "core/ops/elementwise.hpp"
#include "core/ops/views.hpp"

namespace llmcalc {
namespace {

constexpr Count widest_load = 16;  // bytes a thread loads at once

// A power of two, at most 16: every row (or column) of x starts at a multiple of so many bytes.
Count row_alignment(const Tensor& x) {
  Count bytes = widest_load;
  for (int i = 0; i < x.rank(); ++i) {
    if (x.layout.stride[i] <= 1 || x.size(i) == 1) continue;
    while ((size_of(x.dtype) * x.layout.stride[i]).value() % bytes != 0) bytes /= 2;
  }
  return bytes;
}

// Whether the matrix in the last two axes lies column by column.
bool is_turned(const Tensor& x) {
  const int last = x.rank() - 1;
  return x.size(last) > 1 && x.layout.stride[last] != 1 && x.layout.stride[last - 1] == 1;
}

// What a kernel is told of y = a b: one product, or a batch of them along a first axis.
void set_sizes(Launch& launch, const Tensor& a, const Tensor& b, const Tensor& y) {
  launch.batch = a.rank() == 3 ? a.size(0) : 1;
  launch.m = a.size(-2);
  launch.n = b.size(-1);
  launch.k = a.size(-1);
  launch.a_turned = is_turned(a);
  launch.b_turned = is_turned(b);
  launch.row_alignment = std::min({row_alignment(a), row_alignment(b), row_alignment(y)});
}

bool column_major(const Tensor& x) { return x.layout.stride[0] == 1 && x.layout.stride[1] == x.size(0); }

Tensor product(Trace& t, Op op, const Tensor& a, const Tensor& b, const Tensor* bias) {
  if (a.size(1) != b.size(0))
    throw std::invalid_argument("matrix product: " + to_string(a.shape()) + " x " + to_string(b.shape()) +
                                ": the inner lengths " + std::to_string(a.size(1)) + " and " +
                                std::to_string(b.size(0)) + " differ");
  Tensor y = t.allocate(a.dtype, {a.size(0), b.size(1)});
  Launch& launch = bias ? t.launch(op, a.dtype, {&a, &b, bias}, {&y}) : t.launch(op, a.dtype, {&a, &b}, {&y});
  set_sizes(launch, a, b, y);
  return y;
}

Tensor turned(Trace& t, const Tensor& x) { return transpose(t, x, 0, 1); }

// Gradients of a x b. An operand that lies column by column gets its gradient in the same order.
Tensors product_gradients(Trace& t, const Node& node, std::size_t first, const Tensors& kept, const Tensor& g) {
  Tensors out(first + 2);
  const bool a_by_columns = node.numbers[0], b_by_columns = node.numbers[1];
  const Tensor& b = kept.front();  // kept when a needs a gradient
  const Tensor& a = kept.back();   // kept when b does
  if (node.needs(first))
    out[first] = a_by_columns ? turned(t, product(t, Op::mm, b, turned(t, g), nullptr))
                              : product(t, Op::mm, g, turned(t, b), nullptr);
  if (node.needs(first + 1))
    out[first + 1] = b_by_columns ? turned(t, product(t, Op::mm, turned(t, g), a, nullptr))
                                  : product(t, Op::mm, turned(t, a), g, nullptr);
  return out;
}

Tensors mm_back(Trace& t, const Node& node, const Tensors& kept, const Tensors& g) {
  return product_gradients(t, node, 0, kept, g[0]);
}

Tensors addmm_back(Trace& t, const Node& node, const Tensors& kept, const Tensors& g) {
  Tensors out(3);
  if (node.needs(1) || node.needs(2)) out = product_gradients(t, node, 1, kept, g[0]);
  if (node.needs(0)) out[0] = g[0];  // summed over the rows by the engine
  return out;
}

void keep_operands(Trace& t, const Ref<Node>& node, std::size_t first, const Tensor& a, const Tensor& b) {
  if (!node) return;
  node->numbers = {column_major(a), column_major(b)};
  if (node->needs(first)) t.keep(node, b);
  if (node->needs(first + 1)) t.keep(node, a);
}

Tensor batched(Trace& t, const Tensor& a, const Tensor& b, const std::optional<ScorePairs>& pairs) {
  if (a.size(2) != b.size(1) || a.size(0) != b.size(0))
    throw std::invalid_argument("batched matrix product: " + to_string(a.shape()) + " x " + to_string(b.shape()));
  Tensor y = t.allocate(a.dtype, {a.size(0), a.size(1), b.size(2)});
  Launch& launch = t.launch(Op::bmm, a.dtype, {&a, &b}, {&y});
  set_sizes(launch, a, b, y);
  if (pairs) {
    // FLOPs of one scored pair: a multiply-add along whichever axis is no sequence axis.
    const Int128 macs = checked::multiply<Int128>(checked::multiply<Int128>(launch.batch, launch.m),
                                                  checked::multiply<Int128>(launch.n, launch.k));
    launch.flops_per_pair = static_cast<Count>(4 * macs / pairs->full_twice);
    launch.model_flops_per_pair = launch.flops_per_pair;
    launch.pairs = *pairs;
  }
  return y;
}

Tensors bmm_back(Trace& t, const Node& node, const Tensors& kept, const Tensors& g) {
  std::optional<ScorePairs> pairs;
  if (!node.numbers.empty()) pairs = ScorePairs{node.numbers[0], node.numbers[1], node.numbers[2]};
  Tensors out(2);
  if (node.needs(0)) out[0] = batched(t, g[0], transpose(t, kept.front(), 1, 2), pairs);
  if (node.needs(1)) out[1] = batched(t, transpose(t, kept.back(), 1, 2), g[0], pairs);
  return out;
}

Dims with_last(Dims shape, Count last) {
  shape[shape.rank() - 1] = last;
  return shape;
}

// (..., k) as (rows, k).
Dims flattened(const Tensor& x) { return {x.elements() / x.size(-1), x.size(-1)}; }

// Whether matmul of (..., k) by (k, n) goes through one mm on flattened rows (should_fold in ATen's LinearAlgebra.cpp).
bool folds(const Tensor& a, const Tensor& b) {
  if (b.requires_grad) return true;
  for (int i = 0; i + 2 < a.rank(); ++i)
    if (a.layout.stride[i] != a.layout.stride[i + 1] * a.size(i + 1)) return false;
  return true;
}

}  // namespace

Tensor mm(Trace& t, const Tensor& a, const Tensor& b) {
  const Ref<Node> node = t.node(Op::mm, mm_back, {&a, &b});
  keep_operands(t, node, 0, a, b);
  Tensor y = product(t, Op::mm, a, b, nullptr);
  t.produced(node, y);
  return y;
}

Tensor addmm(Trace& t, const Tensor& bias, const Tensor& a, const Tensor& b) {
  const Ref<Node> node = t.node(Op::addmm, addmm_back, {&bias, &a, &b});
  keep_operands(t, node, 1, a, b);
  Tensor y = product(t, Op::addmm, a, b, &bias);
  t.produced(node, y);
  return y;
}

Tensor bmm(Trace& t, const Tensor& a, const Tensor& b, const std::optional<ScorePairs>& pairs) {
  const Ref<Node> node = t.node(Op::bmm, bmm_back, {&a, &b});
  if (node && pairs) node->numbers = {pairs->full_twice, pairs->causal_twice, pairs->exact_twice};
  if (node && node->needs(0)) t.keep(node, b);
  if (node && node->needs(1)) t.keep(node, a);
  Tensor y = batched(t, a, b, pairs);
  t.produced(node, y);
  return y;
}

Tensor matmul(Trace& t, const Tensor& left, const Tensor& right, const std::optional<ScorePairs>& pairs) {
  const Tensor a = t.to_autocast(left), b = t.to_autocast(right);
  if (a.rank() == 2 && b.rank() == 2) return mm(t, a, b);
  if (b.rank() == 2 && folds(a, b)) {
    const Tensor rows = mm(t, reshape(t, a, flattened(a)), b);
    return view(t, rows, with_last(a.shape(), b.size(1)));
  }
  Dims batch_a = a.shape(), batch_b = b.shape();
  batch_a.resize(a.rank() - 2);
  batch_b.resize(b.rank() - 2);
  Dims batch = broadcast(batch_a, batch_b);
  const Count products = elements(batch);
  Dims full_a = batch, full_b = batch, out = batch;
  full_a.push_back(a.size(-2));
  full_a.push_back(a.size(-1));
  full_b.push_back(b.size(-2));
  full_b.push_back(b.size(-1));
  out.push_back(a.size(-2));
  out.push_back(b.size(-1));
  const Tensor flat_a = reshape(t, expand(t, a, full_a), {products, a.size(-2), a.size(-1)});
  const Tensor flat_b = reshape(t, expand(t, b, full_b), {products, b.size(-2), b.size(-1)});
  return view(t, bmm(t, flat_a, flat_b, pairs), out);
}

namespace {

// The layer's own part of a linear layer, without adapters.
Tensor plain_linear(Trace& t, const Tensor& input, const Tensor& stored, const Tensor* stored_bias) {
  const Tensor x = t.to_autocast(input);
  const Tensor weight = t.to_autocast(stored);
  const Tensor turned_weight = transpose(t, weight, 0, 1);
  if (!stored_bias) return matmul(t, x, turned_weight);
  const Tensor bias = t.to_autocast(*stored_bias);
  if (x.rank() == 2) return addmm(t, bias, x, turned_weight);
  if (x.layout.is_contiguous()) {
    const Tensor rows = addmm(t, bias, reshape(t, x, flattened(x)), turned_weight);
    return view(t, rows, with_last(x.shape(), weight.size(0)));
  }
  return add(t, matmul(t, x, turned_weight), bias);
}

Tensor plain_conv1d(Trace& t, const Tensor& x, const Tensor& weight, const Tensor& bias) {
  const Tensor rows = view(t, x, flattened(x));
  const Tensor low_bias = t.to_autocast(bias), low_rows = t.to_autocast(rows), low_weight = t.to_autocast(weight);
  const Tensor y = addmm(t, low_bias, low_rows, low_weight);
  return view(t, y, with_last(x.shape(), weight.size(1)));
}

Tensor adapted(Trace& t, const AdapterLeaf& adapter, const Tensor& x, const Tensor& weight, const Tensor* bias,
               bool conv1d) {
  Tensor y = adapter.computes ? packed_linear(t, x, weight, bias, conv1d, *adapter.computes)
             : conv1d         ? plain_conv1d(t, x, weight, *bias)
                              : plain_linear(t, x, weight, bias);
  return adapter.a >= 0 ? with_adapter(t, std::move(y), x, {weight, bias, conv1d}, adapter) : y;
}

}  // namespace

Tensor linear(Trace& t, const Tensor& x, const Tensor& weight, const Tensor* bias) {
  const AdapterLeaf* const adapter = adapter_of(t, weight);
  return adapter ? adapted(t, *adapter, x, weight, bias, false) : plain_linear(t, x, weight, bias);
}

Tensor conv1d_linear(Trace& t, const Tensor& x, const Tensor& weight, const Tensor& bias) {
  const AdapterLeaf* const adapter = adapter_of(t, weight);
  return adapter ? adapted(t, *adapter, x, weight, &bias, true) : plain_conv1d(t, x, weight, bias);
}

}  // namespace llmcalc
