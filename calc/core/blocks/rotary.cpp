#include "core/blocks/rotary.hpp"

#include "core/ops/cast.hpp"
#include "core/ops/data.hpp"
#include "core/ops/elementwise.hpp"
#include "core/ops/views.hpp"

namespace llmcalc {
namespace {

Tensor rotate_half(Trace& t, const Tensor& x) {
  const Count half = x.size(-1) / 2;
  const Tensor first = slice(t, x, -1, 0, half), second = slice(t, x, -1, half, x.size(-1) - half);
  return cat(t, {neg(t, second), first}, -1);
}

// (x0, x1, x2, x3, ...) to (-x1, x0, -x3, x2, ...)
Tensor rotate_pairs(Trace& t, const Tensor& x) {
  const Count half = x.size(-1) / 2;
  const Tensor even = slice(t, x, -1, 0, half, 2), odd = slice(t, x, -1, 1, half, 2);
  const Tensor stacked = cat(t, {unsqueeze(t, neg(t, odd), -1), unsqueeze(t, even, -1)}, -1);
  return reshape(t, stacked, x.shape());
}

// A table's first half with every entry twice (repeat_interleave: a new tensor).
Tensor spread_to_pairs(Trace& t, const Tensor& table, Count size) {
  Dims shape = table.shape();
  shape[shape.rank() - 1] = size;
  Tensor y = t.allocate(table.dtype, shape);
  t.launch(Op::copy, table.dtype, {&table}, {&y});
  return y;
}

Tensor turned(Trace& t, const Tensor& x, const Tensor& cos, const Tensor& sin,
              Tensor (*rotate)(Trace&, const Tensor&)) {
  const Tensor straight = mul(t, x, cos);
  Tensor across = rotate(t, x);
  across = mul(t, across, sin);
  return add(t, straight, across);
}

Tensor turned_pairs_float32(Trace& t, const Tensor& x, const Tensor& cos, const Tensor& sin) {
  const Tensor straight = mul(t, cast(t, x, DType::float32), cos);
  Tensor across = rotate_pairs(t, x);
  across = cast(t, across, DType::float32);
  across = mul(t, across, sin);
  return cast(t, add(t, straight, across), x.dtype);
}

// first * cos - second * sin, second * cos + first * sin
Tensor turned_split(Trace& t, const Tensor& x, const Tensor& cos, const Tensor& sin) {
  const Tensors halves = chunk(t, x, 2, -1);
  const Tensor first = sub(t, mul(t, halves[0], cos), mul(t, halves[1], sin));
  const Tensor second = add(t, mul(t, halves[1], cos), mul(t, halves[0], sin));
  return cat(t, {first, second}, -1);
}

// Neighbours become halves: (even * cos - odd * sin, odd * cos + even * sin), with the first halves of the tables.
Tensor turned_regrouped(Trace& t, const Tensor& x, const Tensor& cos, const Tensor& sin) {
  const Count half = x.size(-1) / 2;
  const Tensor even = slice(t, x, -1, 0, half, 2), odd = slice(t, x, -1, 1, half, 2);
  const Tensor first = sub(t, mul(t, even, cos), mul(t, odd, sin));
  const Tensor second = add(t, mul(t, odd, cos), mul(t, even, sin));
  return cat(t, {first, second}, -1);
}

// x as complex float32 numbers times the table: the table has the size of x, two numbers an entry.
Tensor turned_complex(Trace& t, const Tensor& x, const Tensor& table) {
  const Tensor pairs = reshape(t, cast(t, x, DType::float32), x.shape());
  const Tensor product = mul(t, pairs, unsqueeze(t, table, 1));
  return cast(t, product, x.dtype);
}

Tensor turn_one(Trace& t, const RotarySpec& spec, const Tensor& x, const Tensor& cos, const Tensor& sin) {
  switch (spec.style) {
    case RotaryStyle::none: return x;
    case RotaryStyle::halves_split: return turned_split(t, x, cos, sin);
    case RotaryStyle::halves_float32: return cast(t, turned(t, x, cos, sin, rotate_half), x.dtype);
    case RotaryStyle::pairs: return turned(t, x, cos, sin, rotate_pairs);
    case RotaryStyle::pairs_float32: return turned_pairs_float32(t, x, cos, sin);
    case RotaryStyle::pairs_cast:
      return cast(t, turned(t, cast(t, x, DType::float32), cos, sin, rotate_pairs), x.dtype);
    case RotaryStyle::regrouped: return turned_regrouped(t, x, cos, sin);
    default: return turned(t, x, cos, sin, rotate_half);
  }
}

Tensor turn(Trace& t, const RotarySpec& spec, const Tensor& x, const Tensor& cos, const Tensor& sin) {
  if (!spec.concatenates) return turn_one(t, spec, x, cos, sin);
  const Tensor turning = slice(t, x, -1, 0, spec.size), rest = slice(t, x, -1, spec.size, x.size(-1) - spec.size);
  return cat(t, {turn_one(t, spec, turning, cos, sin), rest}, -1);
}

// GPT-J: (B, T, heads, d) before the transposition, and tables spread anew for each of q and k.
Tensor turn_by_token(Trace& t, const RotarySpec& spec, const RotaryTables& tables, const Tensor& x) {
  const auto part = [&](const Tensor& y) {
    const Tensor sin = spread_to_pairs(t, unsqueeze(t, tables.sin, 2), spec.size);
    const Tensor cos = spread_to_pairs(t, unsqueeze(t, tables.cos, 2), spec.size);
    return turned(t, y, cos, sin, rotate_pairs);
  };
  const Tensor tokens = transpose(t, x, 1, 2);
  if (!spec.concatenates) return transpose(t, part(tokens), 1, 2);
  const Tensor turning = slice(t, tokens, -1, 0, spec.size);
  const Tensor rest = slice(t, tokens, -1, spec.size, tokens.size(-1) - spec.size);
  return transpose(t, cat(t, {part(turning), rest}, -1), 1, 2);
}

}  // namespace

RotaryTables rotary_tables(Trace& t, RotaryStyle style, Count length, Count size, DType dtype) {
  const Trace::Scope scope(t, "rotary");
  const Trace::NoGrad no_grad(t);
  if (style == RotaryStyle::none || size == 0) return {};
  if (style == RotaryStyle::pairs_by_token) {
    // Rows of a stored float32 table by position, then both parts as views of one tensor.
    const Tensor both = cast(t, constant(t, DType::float32, {1, length, size}), dtype);
    return {slice(t, both, -1, size / 2, size / 2), slice(t, both, -1, 0, size / 2)};
  }
  if (style == RotaryStyle::complex_numbers) {
    // torch.polar: float32 real and imaginary parts.
    return {constant(t, DType::float32, {1, length, size}), Tensor()};
  }
  const bool float32 = style == RotaryStyle::halves_float32 || style == RotaryStyle::pairs_float32;
  const Tensor frequencies = constant(t, DType::float32, {1, length, size / 2});
  const Tensor angles = style == RotaryStyle::halves_split ? frequencies
                        : style == RotaryStyle::pairs_cast ? spread_to_pairs(t, frequencies, size)
                                                           : cat(t, {frequencies, frequencies}, -1);
  const auto table = [&](Op op) {
    Tensor values = pointwise(t, op, {&angles});
    values = mul(t, values, 1.0);
    return values;
  };
  const Tensor cos = table(Op::cos), sin = table(Op::sin);
  if (float32) return {cos, sin};
  return {cast(t, cos, dtype), cast(t, sin, dtype)};
}

void apply_rotary(Trace& t, const RotarySpec& spec, const RotaryTables& tables, Tensor& q, Tensor& k) {
  if (spec.style == RotaryStyle::none) return;
  if (spec.style == RotaryStyle::pairs_by_token) {
    k = turn_by_token(t, spec, tables, k);
    q = turn_by_token(t, spec, tables, q);
    return;
  }
  if (spec.style == RotaryStyle::complex_numbers) {
    const Tensor turned_q = turned_complex(t, q, tables.cos);
    k = turned_complex(t, k, tables.cos);
    q = turned_q;
    return;
  }
  if (spec.style == RotaryStyle::regrouped) {
    const Tensor cos = unsqueeze(t, slice(t, tables.cos, -1, 0, spec.size / 2), 1);
    const Tensor sin = unsqueeze(t, slice(t, tables.sin, -1, 0, spec.size / 2), 1);
    const Tensor turned_q = turn(t, spec, q, cos, sin);
    k = turn(t, spec, k, cos, sin);
    q = turned_q;
    return;
  }
  Tensor cos = unsqueeze(t, tables.cos, 1), sin = unsqueeze(t, tables.sin, 1);
  if (spec.style == RotaryStyle::pairs || spec.style == RotaryStyle::pairs_float32) {
    cos = spread_to_pairs(t, slice(t, cos, -1, 0, spec.size / 2), spec.size);
    sin = spread_to_pairs(t, slice(t, sin, -1, 0, spec.size / 2), spec.size);
  }
  const Tensor turned_q = turn(t, spec, q, cos, sin);
  k = turn(t, spec, k, cos, sin);
  q = turned_q;
}

}  // namespace llmcalc
