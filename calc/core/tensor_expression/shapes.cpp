// view, reshape and their relatives; expand; views as another number format.
#include <algorithm>

#include "core/quantity.hpp"
#include "core/tensor_expression/operations.hpp"

namespace llmcalc::expression {
namespace {

std::string count_of(Count n) { return format_count(n) + (n == 1 ? " element" : " elements"); }

Count product_of(const Bound& in, const Dims& shape) {
  Count product = 1;
  for (const Count length : shape)
    if (length == 0) return 0;
  for (const Count length : shape)
    if (__builtin_mul_overflow(product, length, &product) || product > max_elements)
      in.fail("the shape " + to_string(shape) + " has more than 2^62 elements");
  return product;
}

// Lengths with the one that is -1 filled in, so that there are `count` elements.
Dims inferred(const Bound& in, const std::vector<Count>& lengths, Count count, const std::string& what) {
  Dims shape = as_dims(in, lengths);
  int open = -1;
  Dims known;
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape[i] == -1) {
      if (open >= 0) in.fail("only one length can be -1");
      open = i;
    } else if (shape[i] < 0) {
      in.fail("a length cannot be " + std::to_string(shape[i]));
    } else {
      known.push_back(shape[i]);
    }
  }
  const Count product = product_of(in, known);
  if (open >= 0) {
    if (product == 0) {
      in.fail(count == 0 ? "-1 can be any length beside a 0"
                         : count_of(count) + " of " + what + " cannot become " + to_string(shape));
    }
    if (count % product != 0)
      in.fail(count_of(count) + " of " + what + " do not divide by the other lengths, " + std::to_string(product) +
              ", so -1 has no value");
    shape[open] = count / product;
  } else if (product != count) {
    in.fail(what + " has " + count_of(count) + ", " + to_string(shape) + " has " + format_count(product));
  }
  return shape;
}

std::string tensor_text(const Current& x) { return "the tensor of shape " + to_string(x.shape()); }

// Which two axes of `x` keep it from being seen as `shape`: the first pair, from the right, that a new axis would have
// to run across although they do not follow on from one another in memory.
std::string why_not_viewable(const Current& x, const Dims& shape) {
  const Dims &lengths = x.layout.shape, &strides = x.layout.stride;
  Count new_product = 1;
  int to = shape.rank();
  Count product = 1, group = 1;
  int fast = lengths.rank() - 1;  // the fastest axis of the present group
  for (int axis = lengths.rank() - 1; axis > 0; --axis) {
    product *= lengths[axis];
    group *= lengths[axis];
    const bool follows = lengths[axis - 1] == 1 || strides[axis - 1] == group * strides[fast];
    if (follows) continue;
    while (to > 0 && new_product < product) new_product *= shape[--to];
    if (new_product != product)
      return "its new axis of length " + std::to_string(shape[to]) + " would run across axis " +
             std::to_string(axis - 1) + " (stride " + std::to_string(strides[axis - 1]) + ") and axis " +
             std::to_string(axis) + " (stride " + std::to_string(strides[axis]) +
             "), which do not follow on from one another in memory: axis " + std::to_string(axis - 1) +
             " would need stride " + std::to_string(group * strides[fast]);
    fast = axis - 1;
    group = 1;
  }
  return "no strides show these elements in that order";
}

// x.view(dtype)
Current seen_as_dtype(const Current& x, const Bound& in, DType dtype) {
  Current y = with_layout(x, x.layout);
  y.dtype = dtype;
  const Count from = size_of(x.dtype).value(), to = size_of(dtype).value();
  if (from == to) return y;
  const std::string formats = std::string(name_of(x.dtype)) + " (" + std::to_string(from) + " bytes) as " +
                              std::string(name_of(dtype)) + " (" + std::to_string(to) + ")";
  if (x.rank() == 0) in.fail("a scalar has no axis whose length could change to see " + formats);
  const int last = x.rank() - 1;
  if (x.layout.stride[last] != 1)
    in.fail("the last axis has to have stride 1 to see " + formats + "; it has stride " +
                std::to_string(x.layout.stride[last]),
            "contiguous() copies it into that order");
  Layout& layout = y.layout;
  if (from > to) {
    const Count ratio = from / to;
    for (int i = 0; i < last; ++i) layout.stride[i] = checked::multiply(layout.stride[i], ratio);
    layout.offset = checked::multiply(layout.offset, ratio);
    layout.shape[last] = checked::multiply(layout.shape[last], ratio);
    product_of(in, layout.shape);
    return y;
  }
  const Count ratio = to / from;
  const auto divides = [&](Count n, const std::string& what) {
    if (n % ratio != 0)
      in.fail(what + " has to divide by " + std::to_string(ratio) + " to see " + formats + "; it is " +
              std::to_string(n));
  };
  divides(layout.shape[last], "the length of the last axis");
  divides(layout.offset, "the offset");
  for (int i = 0; i < last; ++i) {
    divides(layout.stride[i], "the stride of axis " + std::to_string(i));
    layout.stride[i] /= ratio;
  }
  layout.shape[last] /= ratio;
  layout.offset /= ratio;
  return y;
}

Result view_op(const Current& x, const Bound& in) {
  if (in.has(0) && in.value(0).kind == Value::Kind::dtype) return seen_as_dtype(x, in, in.value(0).dtype);
  if (!in.has(0)) in.fail("needs a shape or a number format");
  const Dims shape = inferred(in, in.integers(0), elements(x.shape()), tensor_text(x));
  const std::optional<Layout> layout = view(x.layout, shape);
  if (!layout) {
    const Int128 bytes = static_cast<Int128>(elements(x.shape())) * size_of(x.dtype).value();
    in.fail(tensor_text(x) + " with strides " + to_string(x.layout.stride) + " cannot be seen as " + to_string(shape) +
                ": " + why_not_viewable(x, shape),
            "reshape" + to_string(shape) + " works: it copies " + format_count(bytes) +
                " bytes; so does contiguous() before the view");
  }
  return with_layout(x, *layout);
}

Result reshape_op(const Current& x, const Bound& in) {
  if (!in.has(0)) in.fail("needs a shape");
  return reshaped(x, inferred(in, in.integers(0), elements(x.shape()), tensor_text(x)));
}

Result flatten_op(const Current& x, const Bound& in) {
  const int first = in.axis_or(0, 0), last = in.axis_or(1, -1);
  if (x.rank() == 0) return reshaped(x, {1});
  if (first > last) in.fail("start_dim " + std::to_string(first) + " comes after end_dim " + std::to_string(last));
  if (first == last) return with_layout(x, x.layout);
  Dims shape;
  Count merged = 1;
  for (int i = 0; i < x.rank(); ++i) {
    if (i >= first && i <= last) {
      merged = checked::multiply(merged, x.shape()[i]);
      if (i == last) shape.push_back(merged);
    } else {
      shape.push_back(x.shape()[i]);
    }
  }
  return reshaped(x, shape);
}

// Unlike flatten, it copies whatever is not contiguous.
Result ravel_op(const Current& x, const Bound&) {
  const Dims flat{elements(x.shape())};
  return x.layout.is_contiguous() ? reshaped(x, flat) : copy_of(x, flat);
}

Result unflatten_op(const Current& x, const Bound& in) {
  const int axis = in.axis(0);
  if (!in.is_list(1)) in.fail("sizes has to be a list: (2, -1)");
  if (in.integers(1).empty()) in.fail("sizes is empty");
  if (x.rank() == 0) in.fail("a scalar has no axis to split");
  const Dims parts = inferred(in, in.integers(1), x.shape()[axis],
                              "axis " + std::to_string(axis) + " of length " + std::to_string(x.shape()[axis]));
  std::vector<Count> lengths;
  for (int i = 0; i < x.rank(); ++i) {
    if (i == axis) {
      lengths.insert(lengths.end(), parts.begin(), parts.end());
    } else {
      lengths.push_back(x.shape()[i]);
    }
  }
  const std::optional<Layout> layout = view(x.layout, as_dims(in, lengths));
  return layout ? with_layout(x, *layout) : reshaped(x, as_dims(in, lengths));
}

Result expand_op(const Current& x, const Bound& in) {
  Dims shape = as_dims(in, in.has(0) ? in.integers(0) : std::vector<Count>{});
  const int added = shape.rank() - x.rank();
  if (added < 0)
    in.fail(std::to_string(shape.rank()) + " lengths are too few for a tensor of " + std::to_string(x.rank()) +
            " axes, " + to_string(x.shape()));
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape[i] == -1) {
      if (i < added) in.fail("-1 keeps a length, and the new axis " + std::to_string(i) + " has none yet");
      shape[i] = x.shape()[i - added];
    }
    if (shape[i] < 0) in.fail("a length cannot be " + std::to_string(shape[i]));
    if (i >= added && x.shape()[i - added] != shape[i] && x.shape()[i - added] != 1)
      in.fail("axis " + std::to_string(i - added) + " of " + to_string(x.shape()) + " has length " +
                  std::to_string(x.shape()[i - added]) + " and cannot be expanded to " + std::to_string(shape[i]),
              "only an axis of length 1 can be expanded; repeat copies any");
  }
  product_of(in, shape);
  return with_layout(x, expand(x.layout, shape));
}

Result as_strided_op(const Current& x, const Bound& in) {
  const Dims shape = as_dims(in, in.integers(0)), stride = as_dims(in, in.integers(1));
  if (shape.rank() != stride.rank())
    in.fail(std::to_string(shape.rank()) + " lengths, but " + std::to_string(stride.rank()) + " strides");
  Layout layout{shape, stride, in.integer_or(2, x.layout.offset)};
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape[i] < 0) in.fail("a length cannot be " + std::to_string(shape[i]));
    if (stride[i] < 0) in.fail("negative strides are not supported, as in PyTorch");
  }
  if (layout.offset < 0) in.fail("the offset cannot be negative");
  product_of(in, shape);
  const Int128 last = static_cast<Int128>(layout.offset) + layout.span();
  if (layout.span() > 0 && last * size_of(x.dtype).value() > x.storage_bytes)
    in.fail("it reaches " + format_count(last * size_of(x.dtype).value()) + " bytes far into a storage of " +
            format_count(x.storage_bytes));
  return with_layout(x, layout);
}

}  // namespace

Current reshaped(const Current& x, const Dims& shape) {
  if (const std::optional<Layout> layout = view(x.layout, shape)) return with_layout(x, *layout);
  return copy_of(x, shape);
}

const std::vector<Operation>& shape_operations() {
  static const std::vector<Operation> all = {
      {"view", "*size", view_op},
      {"reshape", "*shape", reshape_op},
      {"flatten", "start_dim=0, end_dim=-1", flatten_op},
      {"ravel", "", ravel_op},
      {"unflatten", "dim, sizes", unflatten_op},
      {"expand", "*size", expand_op},
      {"broadcast_to", "size", expand_op},
      {"as_strided", "size, stride, storage_offset=None", as_strided_op},
  };
  return all;
}

}  // namespace llmcalc::expression
