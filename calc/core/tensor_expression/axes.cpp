// Operations that only reorder, add or drop axes: always views.
#include <algorithm>

#include "core/tensor_expression/operations.hpp"

namespace llmcalc::expression {
namespace {

Result transpose_op(const Current& x, const Bound& in) {
  const int a = in.axis(0), b = in.axis(1);
  return x.rank() == 0 ? x : with_layout(x, transpose(x.layout, a, b));
}

Result permute_op(const Current& x, const Bound& in) {
  const std::vector<Count> dims = in.has(0) ? in.integers(0) : std::vector<Count>{};
  if (dims.size() != static_cast<std::size_t>(x.rank()))
    in.fail("it names " + std::to_string(dims.size()) + " axes, but a tensor of shape " + to_string(x.shape()) +
            " has " + std::to_string(x.rank()));
  std::vector<int> order;
  for (const Count dim : dims) {
    const int axis = in.normal_axis(dim, x.rank());
    if (std::find(order.begin(), order.end(), axis) != order.end())
      in.fail("axis " + std::to_string(axis) + " is named twice");
    order.push_back(axis);
  }
  return with_layout(x, permute(x.layout, order));
}

Result t_op(const Current& x, const Bound& in) {
  if (x.rank() > 2)
    in.fail(
        "it takes at most 2 axes, and a tensor of shape " + to_string(x.shape()) + " has " + std::to_string(x.rank()),
        "mT swaps the last two axes, transpose(a, b) any two");
  return x.rank() < 2 ? x : with_layout(x, transpose(x.layout, 0, 1));
}

Result reversed(const Current& x, const Bound&) {  // T
  std::vector<int> order;
  for (int axis = x.rank(); axis-- > 0;) order.push_back(axis);
  return with_layout(x, permute(x.layout, order));
}

Result matrices_turned(const Current& x, const Bound& in) {  // mT
  if (x.rank() == 1) in.fail("it takes matrices, and a tensor of shape " + to_string(x.shape()) + " has 1 axis");
  return x.rank() == 0 ? x : with_layout(x, transpose(x.layout, x.rank() - 2, x.rank() - 1));
}

Result matrix_turned(const Current& x, const Bound& in) {  // H
  if (x.rank() != 0 && x.rank() != 2)
    in.fail("it takes a matrix, not a tensor of shape " + to_string(x.shape()), "mH turns batches of matrices");
  return matrices_turned(x, in);
}

Result movedim_op(const Current& x, const Bound& in) {
  const std::vector<Count> from = in.integers(0), to = in.integers(1);
  if (from.size() != to.size())
    in.fail(std::to_string(from.size()) + " axes to move, but " + std::to_string(to.size()) +
            " places to move them to");
  constexpr int free = -1;
  std::vector<int> order(static_cast<std::size_t>(x.rank()), free);
  std::vector<bool> moved(static_cast<std::size_t>(x.rank()), false);
  if (x.rank() == 0) {
    for (std::size_t i = 0; i < from.size(); ++i) {
      in.normal_axis(from[i], 0);
      in.normal_axis(to[i], 0);
    }
    return x;
  }
  for (std::size_t i = 0; i < from.size(); ++i) {
    const int source = in.normal_axis(from[i], x.rank()), target = in.normal_axis(to[i], x.rank());
    if (moved[static_cast<std::size_t>(source)]) in.fail("axis " + std::to_string(source) + " is moved twice");
    if (order[static_cast<std::size_t>(target)] != free)
      in.fail("two axes are moved to place " + std::to_string(target));
    order[static_cast<std::size_t>(target)] = source;
    moved[static_cast<std::size_t>(source)] = true;
  }
  int next = 0;
  for (int& place : order) {
    if (place != free) continue;
    while (moved[static_cast<std::size_t>(next)]) ++next;
    place = next++;
  }
  return with_layout(x, permute(x.layout, order));
}

Result squeeze_op(const Current& x, const Bound& in) {
  Layout layout = x.layout;
  std::vector<bool> chosen(static_cast<std::size_t>(std::max(x.rank(), 1)), !in.has(0));
  if (in.has(0)) {
    for (const Count dim : in.integers(0)) {
      const auto axis = static_cast<std::size_t>(in.normal_axis(dim, x.rank()));
      if (chosen[axis]) in.fail("axis " + std::to_string(axis) + " is named twice");
      chosen[axis] = true;
    }
  }
  for (int axis = x.rank(); axis-- > 0;)
    if (chosen[static_cast<std::size_t>(axis)]) layout = squeeze(layout, axis);
  return with_layout(x, layout);
}

Result unsqueeze_op(const Current& x, const Bound& in) {
  const int axis = in.normal_axis(in.integer(0), x.rank() + 1);
  if (x.rank() == Dims::max_rank) in.fail("a tensor has at most " + std::to_string(Dims::max_rank) + " axes here");
  return with_layout(x, unsqueeze(x.layout, axis));
}

Result same(const Current& x, const Bound&) { return x; }

}  // namespace

Current with_layout(const Current& x, Layout layout) {
  Current y = x;
  y.layout = layout;
  y.copied = false;
  return y;
}

const std::vector<Operation>& view_operations() {
  static const std::vector<Operation> all = {
      {"transpose", "dim0, dim1", transpose_op},
      {"swapaxes", "axis0, axis1", transpose_op},
      {"swapdims", "dim0, dim1", transpose_op},
      {"permute", "*dims", permute_op},
      {"t", "", t_op},
      {"T", "", reversed, true},
      {"mT", "", matrices_turned, true},
      {"H", "", matrix_turned, true},
      {"mH", "", matrices_turned, true},
      {"adjoint", "", matrices_turned},
      {"movedim", "source, destination", movedim_op},
      {"moveaxis", "source, destination", movedim_op},
      {"squeeze", "*dim", squeeze_op},
      {"unsqueeze", "dim", unsqueeze_op},
      {"detach", "", same},
      {"requires_grad_", "requires_grad=True", same},
      {"view_as_real", "", [](const Current&, const Bound& in) -> Result { in.fail("this is not a complex tensor"); }},
  };
  return all;
}

}  // namespace llmcalc::expression
