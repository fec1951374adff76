#include "core/layout.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace llmcalc {

Dims::Dims(std::initializer_list<Count> values) {
  for (const Count v : values) push_back(v);
}

void Dims::push_back(Count value) {
  if (rank_ == max_rank) throw std::length_error("a tensor has at most 8 axes here");
  values_[static_cast<std::size_t>(rank_++)] = value;
}

void Dims::insert(int at, Count value) {
  push_back(value);
  std::rotate(values_.begin() + at, values_.begin() + rank_ - 1, values_.begin() + rank_);
}

void Dims::erase(int at) {
  std::move(values_.begin() + at + 1, values_.begin() + rank_, values_.begin() + at);
  --rank_;
}

bool operator==(const Dims& a, const Dims& b) { return std::equal(a.begin(), a.end(), b.begin(), b.end()); }

std::string to_string(const Dims& dims) {
  std::string text = "(";
  for (int i = 0; i < dims.rank(); ++i) text += (i ? ", " : "") + std::to_string(dims[i]);
  return text + ")";
}

Count elements(const Dims& shape) {
  Count product = 1;
  for (const Count length : shape) product = checked::multiply(product, length);
  return product;
}

Dims contiguous_strides(const Dims& shape) {
  Dims stride;
  stride.resize(shape.rank());
  Count step = 1;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    stride[i] = step;
    step = checked::multiply(step, std::max<Count>(shape[i], 1));
  }
  return stride;
}

bool Layout::is_contiguous() const {
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return true;
  Count step = 1;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    if (shape[i] == 1) continue;
    if (stride[i] != step) return false;
    step *= shape[i];
  }
  return true;
}

bool Layout::is_dense() const {
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return true;
  std::vector<int> order;
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape[i] > 1) order.push_back(i);
  }
  std::sort(order.begin(), order.end(), [&](int a, int b) { return stride[a] < stride[b]; });
  Count step = 1;
  for (const int i : order) {
    if (stride[i] != step) return false;
    step *= shape[i];
  }
  return true;
}

Count Layout::span() const {
  Count last = 0;
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape[i] == 0) return 0;
    last = checked::add(last, checked::multiply(shape[i] - 1, stride[i]));
  }
  return last + 1;
}

Layout transpose(const Layout& x, int a, int b) {
  Layout y = x;
  std::swap(y.shape[a], y.shape[b]);
  std::swap(y.stride[a], y.stride[b]);
  return y;
}

Layout permute(const Layout& x, const std::vector<int>& order) {
  Layout y;
  y.offset = x.offset;
  for (const int axis : order) {
    y.shape.push_back(x.shape[axis]);
    y.stride.push_back(x.stride[axis]);
  }
  return y;
}

Layout slice(const Layout& x, int axis, Count start, Count length, Count step) {
  Layout y = x;
  y.offset = checked::add(y.offset, checked::multiply(start, x.stride[axis]));
  y.shape[axis] = length;
  y.stride[axis] = checked::multiply(x.stride[axis], step);
  return y;
}

Layout select(const Layout& x, int axis, Count index) {
  Layout y = x;
  y.offset = checked::add(y.offset, checked::multiply(index, x.stride[axis]));
  y.shape.erase(axis);
  y.stride.erase(axis);
  return y;
}

Layout unsqueeze(const Layout& x, int axis) {
  Layout y = x;
  const Count stride = axis < x.shape.rank() ? checked::multiply(x.shape[axis], x.stride[axis]) : 1;
  y.shape.insert(axis, 1);
  y.stride.insert(axis, stride);
  return y;
}

Layout squeeze(const Layout& x, int axis) {
  if (x.shape[axis] != 1) return x;
  Layout y = x;
  y.shape.erase(axis);
  y.stride.erase(axis);
  return y;
}

Layout expand(const Layout& x, const Dims& shape) {
  const int added = shape.rank() - x.shape.rank();
  if (added < 0) throw std::invalid_argument("cannot expand " + to_string(x.shape) + " to fewer axes");
  Layout y{shape, shape, x.offset};
  for (int i = 0; i < shape.rank(); ++i) {
    const int from = i - added;
    if (from < 0 || (x.shape[from] == 1 && shape[i] != 1)) {
      y.stride[i] = 0;
    } else if (x.shape[from] == shape[i]) {
      y.stride[i] = x.stride[from];
    } else {
      throw std::invalid_argument("axis " + std::to_string(i) + " has length " + std::to_string(x.shape[from]) +
                                  " and cannot be expanded to " + std::to_string(shape[i]));
    }
  }
  // A new leading axis of length 1 in front of existing ones: PyTorch gives it the stride it would have.
  for (int i = added - 1; i >= 0; --i)
    if (shape[i] == 1 && i + 1 < shape.rank()) y.stride[i] = checked::multiply(shape[i + 1], y.stride[i + 1]);
  return y;
}

std::optional<Layout> view(const Layout& x, const Dims& shape) {
  const Count count = elements(x.shape);
  if (count != elements(shape)) return std::nullopt;
  Layout y{shape, shape, x.offset};
  if (count == 0) {
    y.stride = x.shape == shape ? x.stride : contiguous_strides(shape);
    return y;
  }
  if (x.shape.rank() == 0) {
    for (int i = 0; i < shape.rank(); ++i) y.stride[i] = 1;
    return y;
  }
  // Walk both shapes from the fast end: each maximal group of axes that lie behind one another in memory must be
  // filled exactly by a group of new axes.
  int to = shape.rank() - 1;
  Count base_stride = x.stride.back();
  Count group = 1, filled = 1;
  for (int from = x.shape.rank() - 1; from >= 0; --from) {
    group *= x.shape[from];
    const bool group_ends =
        from == 0 || (x.shape[from - 1] != 1 && x.stride[from - 1] != checked::multiply(group, base_stride));
    if (!group_ends) continue;
    while (to >= 0 && (filled < group || shape[to] == 1)) {
      y.stride[to] = checked::multiply(filled, base_stride);
      filled *= shape[to];
      --to;
    }
    if (filled != group) return std::nullopt;
    if (from > 0) {
      base_stride = x.stride[from - 1];
      group = 1;
      filled = 1;
    }
  }
  if (to != -1) return std::nullopt;
  return y;
}

Dims broadcast(const Dims& a, const Dims& b) {
  const Dims& longer = a.rank() >= b.rank() ? a : b;
  const Dims& shorter = a.rank() >= b.rank() ? b : a;
  Dims result = longer;
  const int added = longer.rank() - shorter.rank();
  for (int i = 0; i < shorter.rank(); ++i) {
    Count& length = result[i + added];
    if (length == shorter[i] || shorter[i] == 1) continue;
    if (length != 1)
      throw std::invalid_argument("axis " + std::to_string(i + added) + " has length " + std::to_string(length) +
                                  " in one operand and " + std::to_string(shorter[i]) + " in the other");
    length = shorter[i];
  }
  return result;
}

namespace {

// Stride of an operand along an axis of the (longer) result; 0 where it is broadcast.
Count broadcast_stride(const Layout& x, const Dims& shape, int axis) {
  const int own = axis - (shape.rank() - x.shape.rank());
  return own < 0 || (x.shape[own] == 1 && shape[axis] != 1) ? 0 : x.stride[own];
}

// TensorIterator's comparison of two axes: the first operand that can tell decides. 1: `a` is slower, so swap.
int compare_axes(const Dims& shape, const Few<const Layout*, 4>& operands, int a, int b) {
  for (const Layout* x : operands) {
    const Count stride_a = broadcast_stride(*x, shape, a), stride_b = broadcast_stride(*x, shape, b);
    if (stride_a == 0 || stride_b == 0) continue;
    if (stride_a != stride_b) return stride_a < stride_b ? -1 : 1;
    if (shape[a] > shape[b]) return 1;
  }
  return 0;
}

// Axes from the fastest to the slowest (an insertion sort, because the comparison can be undecided).
Few<int, Dims::max_rank> iteration_order(const Dims& shape, const Few<const Layout*, 4>& operands) {
  Few<int, Dims::max_rank> order;
  for (int i = shape.rank() - 1; i >= 0; --i) order.push_back(i);
  for (int i = 1; i < shape.rank(); ++i) {
    int moving = i;
    for (int below = i - 1; below >= 0; --below) {
      const int outcome = compare_axes(shape, operands, order[static_cast<std::size_t>(below)],
                                       order[static_cast<std::size_t>(moving)]);
      if (outcome > 0) {
        std::swap(order[static_cast<std::size_t>(below)], order[static_cast<std::size_t>(moving)]);
        moving = below;
      } else if (outcome < 0) {
        break;
      }
    }
  }
  return order;
}

}  // namespace

Dims elementwise_strides(const Dims& shape, const Few<const Layout*, 4>& operands) {
  // When all operands have the result's shape and one common dense layout, it is kept as it is.
  const bool same_shape =
      std::all_of(operands.begin(), operands.end(), [&](const Layout* x) { return x->shape == shape; });
  if (same_shape) {
    if (std::all_of(operands.begin(), operands.end(), [](const Layout* x) { return x->is_contiguous(); }))
      return contiguous_strides(shape);
    const Layout& first = *operands.front();
    if (first.is_dense() &&
        std::all_of(operands.begin(), operands.end(), [&](const Layout* x) { return x->stride == first.stride; }))
      return first.stride;
  }
  Dims stride = shape;
  Count step = 1;
  for (const int axis : iteration_order(shape, operands)) {
    stride[axis] = step;
    step = checked::multiply(step, shape[axis]);
  }
  return stride;
}

Dims strides_like(const Layout& x) {
  if (x.is_dense()) return x.stride;
  Dims stride = x.shape;
  Count step = 1;
  const Few<int, Dims::max_rank> order = iteration_order(x.shape, {&x});
  for (const int axis : order) {
    stride[axis] = step;
    step = checked::multiply(step, std::max<Count>(x.shape[axis], 1));
  }
  return stride;
}

}  // namespace llmcalc
