// Operations that copy, or may: contiguous, clone, conversions, repeat.
#include <algorithm>

#include "core/tensor_expression/operations.hpp"

namespace llmcalc::expression {
namespace {

Result contiguous_op(const Current& x, const Bound&) {
  return x.layout.is_contiguous() ? with_layout(x, x.layout) : copy_of(x, x.shape());
}

Result clone_op(const Current& x, const Bound&) { return copy_with_strides(x, strides_like(x.layout)); }

Current converted(const Current& x, DType dtype, bool copy = false) {
  if (dtype == x.dtype && !copy) return with_layout(x, x.layout);
  Current y = copy_with_strides(x, strides_like(x.layout));
  y.dtype = dtype;
  return y;
}

Result to_op(const Current& x, const Bound& in) {
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {  // to(dtype) or to(device, dtype)
    if (!in.has(i) || in.value(i).kind == Value::Kind::dtype) continue;
    if (in.value(i).kind == Value::Kind::boolean && i == 1) continue;  // non_blocking by place
    in.fail("number formats are handled here, as in to(torch.bfloat16); devices are not",
            in.value(i).kind == Value::Kind::word ? "`llmcalc dtype` lists the formats" : "");
  }
  if (!in.has(0)) in.fail("needs a number format, as in to(torch.bfloat16)");
  const bool copy = in.has(2) && in.value(2).kind == Value::Kind::boolean && in.value(2).integer != 0;
  return converted(x, in.value(0).dtype, copy);
}

Result type_op(const Current& x, const Bound& in) {
  if (in.value(0).kind != Value::Kind::dtype) in.fail("needs a number format, as in type(torch.bfloat16)");
  return converted(x, in.value(0).dtype);
}

template <DType dtype>
Result to_dtype(const Current& x, const Bound&) {
  return converted(x, dtype);
}

Current repeated(const Current& x, const Bound& in, std::vector<Count> times) {
  const auto rank = static_cast<std::size_t>(x.rank());
  if (times.size() < rank)
    in.fail(std::to_string(times.size()) + " numbers are too few for a tensor of " + std::to_string(rank) + " axes, " +
            to_string(x.shape()));
  Dims shape = as_dims(in, times);
  const std::size_t added = times.size() - rank;
  for (std::size_t i = 0; i < times.size(); ++i) {
    if (times[i] < 0) in.fail("an axis cannot be repeated " + std::to_string(times[i]) + " times");
    if (i >= added) shape[static_cast<int>(i)] = checked::multiply(times[i], x.shape()[static_cast<int>(i - added)]);
  }
  if (elements(shape) > max_elements) in.fail("the result has more than 2^62 elements");
  return copy_of(x, shape);
}

Result repeat_op(const Current& x, const Bound& in) {
  return repeated(x, in, in.has(0) ? in.integers(0) : std::vector<Count>{});
}

Result tile_op(const Current& x, const Bound& in) {
  std::vector<Count> times = in.has(0) ? in.integers(0) : std::vector<Count>{};
  while (times.size() < static_cast<std::size_t>(x.rank())) times.insert(times.begin(), 1);
  return repeated(x, in, times);
}

Result repeat_interleave_op(const Current& x, const Bound& in) {
  const Count times = in.integer(0);
  if (times < 0) in.fail("elements cannot be repeated " + std::to_string(times) + " times");
  if (in.has(1) && x.rank() == 0) in.fail("a scalar has no axis");
  Dims shape = in.has(1) ? x.shape() : Dims{elements(x.shape())};
  const int axis = in.has(1) ? in.axis(1) : 0;
  shape[axis] = checked::multiply(shape[axis], times);
  if (elements(shape) > max_elements) in.fail("the result has more than 2^62 elements");
  return copy_of(x, shape);
}

Result flip_op(const Current& x, const Bound& in) {
  std::vector<bool> seen(static_cast<std::size_t>(std::max(x.rank(), 1)), false);
  for (const Count dim : in.has(0) ? in.integers(0) : std::vector<Count>{}) {
    const auto axis = static_cast<std::size_t>(in.normal_axis(dim, x.rank()));
    if (seen[axis]) in.fail("axis " + std::to_string(axis) + " is named twice");
    seen[axis] = true;
  }
  return copy_with_strides(x, strides_like(x.layout));
}

}  // namespace

Current copy_of(const Current& x, const Dims& shape) {
  Current y = with_layout(x, Layout::contiguous(shape));
  y.copied = true;
  return y;
}

Current copy_with_strides(const Current& x, const Dims& stride) {
  Current y = with_layout(x, Layout{x.shape(), stride, 0});
  y.copied = true;
  return y;
}

const std::vector<Operation>& copy_operations() {
  static const std::vector<Operation> all = {
      {"contiguous", "", contiguous_op},
      {"clone", "", clone_op},
      {"to", "dtype=None, non_blocking=False, copy=False", to_op},
      {"type", "dtype", type_op},
      {"float", "", to_dtype<DType::float32>},
      {"double", "", to_dtype<DType::float64>},
      {"half", "", to_dtype<DType::float16>},
      {"bfloat16", "", to_dtype<DType::bfloat16>},
      {"long", "", to_dtype<DType::int64>},
      {"int", "", to_dtype<DType::int32>},
      {"short", "", to_dtype<DType::int16>},
      {"char", "", to_dtype<DType::int8>},
      {"byte", "", to_dtype<DType::uint8>},
      {"bool", "", to_dtype<DType::boolean>},
      {"repeat", "*repeats", repeat_op},
      {"tile", "*dims", tile_op},
      {"repeat_interleave", "repeats, dim=None", repeat_interleave_op},
      {"flip", "*dims", flip_op},
  };
  return all;
}

}  // namespace llmcalc::expression
