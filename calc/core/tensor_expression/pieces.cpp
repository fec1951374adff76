// Parts of a tensor: select, narrow, chunk, split, unbind, diagonal, unfold, and x[...].
#include <algorithm>

#include "core/tensor_expression/operations.hpp"

namespace llmcalc::expression {
namespace {

void needs_axes(const Current& x, const Bound& in) {
  if (x.rank() == 0) in.fail("a scalar has no axis");
}

std::string of_axis(const Current& x, int axis) {
  return "axis " + std::to_string(axis) + " of length " + std::to_string(x.shape()[axis]);
}

// Index from 0 to length - 1; negative ones count from the end. Nothing when out of range.
std::optional<Count> wrapped(Count index, Count length) {
  if (index < -length || index >= length) return std::nullopt;
  return index < 0 ? index + length : index;
}

Result select_op(const Current& x, const Bound& in) {
  needs_axes(x, in);
  const int axis = in.axis(0);
  const std::optional<Count> index = wrapped(in.integer(1), x.shape()[axis]);
  if (!index) in.fail("index " + std::to_string(in.integer(1)) + " is out of range for " + of_axis(x, axis));
  return with_layout(x, select(x.layout, axis, *index));
}

Result narrow_op(const Current& x, const Bound& in) {
  needs_axes(x, in);
  const int axis = in.axis(0);
  const Count size = x.shape()[axis], length = in.integer(2);
  Count start = in.integer(1);
  if (length < 0) in.fail("a length cannot be negative");
  if (start < -size || start > size)
    in.fail("start " + std::to_string(start) + " is out of range for " + of_axis(x, axis));
  if (start < 0) start += size;
  if (length > size - start)
    in.fail("start " + std::to_string(start) + " and length " + std::to_string(length) + " go past " +
            of_axis(x, axis));
  return with_layout(x, slice(x.layout, axis, start, length));
}

Pieces pieces_of(const Current& x, int axis, Count count, Count length) {
  Pieces pieces;
  pieces.whole = x;
  pieces.axis = axis;
  pieces.count = count;
  pieces.length = length;
  return pieces;
}

Pieces equal_pieces(const Current& x, int axis, Count length) {
  return pieces_of(x, axis, std::max<Count>(length == 0 ? 1 : ceil_div(x.shape()[axis], length), 1), length);
}

Result chunk_op(const Current& x, const Bound& in) {
  needs_axes(x, in);
  const int axis = in.axis_or(1, 0);
  const Count chunks = in.integer(0);
  if (chunks <= 0) in.fail("there has to be at least 1 chunk");
  const Count size = x.shape()[axis];
  if (size == 0) return pieces_of(x, axis, chunks, 0);
  return equal_pieces(x, axis, ceil_div(size, chunks));
}

Pieces listed_pieces(const Current& x, int axis, std::vector<Count> lengths) {
  Pieces pieces = pieces_of(x, axis, static_cast<Count>(lengths.size()), 0);
  pieces.lengths = std::move(lengths);
  return pieces;
}

Result split_op(const Current& x, const Bound& in) {
  needs_axes(x, in);
  const int axis = in.axis_or(1, 0);
  const Count size = x.shape()[axis];
  if (!in.is_list(0)) {
    const Count length = in.integer(0);
    if (length < 0) in.fail("a length cannot be negative");
    if (length == 0 && size != 0) in.fail("pieces of length 0 never make up " + of_axis(x, axis));
    return equal_pieces(x, axis, length);
  }
  const std::vector<Count> lengths = in.integers(0);
  Int128 sum = 0;
  for (const Count length : lengths) {
    if (length < 0) in.fail("a length cannot be negative");
    sum += length;
  }
  if (sum != size)
    in.fail("the lengths add up to " + llmcalc::to_string(sum) + ", not to " + std::to_string(size) +
            ", the length of axis " + std::to_string(axis));
  if (lengths.empty()) in.fail("there are no lengths");
  return listed_pieces(x, axis, lengths);
}

// Into equal parts, the first ones longer by 1 where it does not divide; or at given places.
Result tensor_split_op(const Current& x, const Bound& in) {
  needs_axes(x, in);
  const int axis = in.axis_or(1, 0);
  const Count size = x.shape()[axis];
  std::vector<Count> ends;
  if (in.is_list(0)) {
    for (const Count place : in.integers(0))
      ends.push_back(std::clamp<Count>(place < 0 ? place + size : place, 0, size));
    ends.push_back(size);
  } else {
    constexpr Count most_parts = 10'000;
    const Count parts = in.integer(0);
    if (parts <= 0) in.fail("there has to be at least 1 part");
    if (parts > most_parts) in.fail("more than 10,000 parts");
    for (Count i = 1; i <= parts; ++i) ends.push_back(size / parts * i + std::min(i, size % parts));
  }
  std::vector<Count> lengths;
  Count begin = 0;
  for (const Count end : ends) {
    if (end < begin) in.fail("the places to split at have to rise");
    lengths.push_back(end - begin);
    begin = end;
  }
  return listed_pieces(x, axis, lengths);
}

Result unbind_op(const Current& x, const Bound& in) {
  needs_axes(x, in);
  const int axis = in.axis_or(0, 0);
  Pieces pieces = pieces_of(x, axis, x.shape()[axis], 1);
  pieces.drop_axis = true;
  return pieces;
}

Result diagonal_op(const Current& x, const Bound& in) {
  const Count offset = in.integer_or(0, 0);
  if (x.rank() < 2) in.fail("a tensor of shape " + to_string(x.shape()) + " has no diagonal");
  const int a = in.axis_or(1, 0), b = in.axis_or(2, 1);
  if (a == b) in.fail("the two axes of a diagonal have to differ");
  const Dims &shape = x.shape(), &stride = x.layout.stride;
  const Int128 down = offset < 0 ? -static_cast<Int128>(offset) : 0, right = offset > 0 ? offset : 0;
  const Int128 length = std::max<Int128>(std::min(shape[a] - down, shape[b] - right), 0);
  Layout y = x.layout;
  if (length > 0)
    y.offset = checked::add(y.offset, offset < 0 ? checked::multiply(static_cast<Count>(down), stride[a])
                                                 : checked::multiply(static_cast<Count>(right), stride[b]));
  const Count along = checked::add(stride[a], stride[b]);
  for (const int axis : {std::max(a, b), std::min(a, b)}) {
    y.shape.erase(axis);
    y.stride.erase(axis);
  }
  y.shape.push_back(static_cast<Count>(length));
  y.stride.push_back(along);
  return with_layout(x, y);
}

Result unfold_op(const Current& x, const Bound& in) {
  const int axis = in.axis(0);
  const Count size = in.integer(1), step = in.integer(2);
  const Count length = x.rank() == 0 ? 1 : x.shape()[axis];
  if (size < 0) in.fail("a size cannot be negative");
  if (step <= 0) in.fail("the step has to be at least 1");
  if (size > length)
    in.fail("windows of " + std::to_string(size) + " are longer than axis " + std::to_string(axis) + " of length " +
            std::to_string(length));
  if (x.rank() == Dims::max_rank) in.fail("a tensor has at most " + std::to_string(Dims::max_rank) + " axes here");
  Layout y = x.layout;
  const Count stride = x.rank() == 0 ? 1 : x.layout.stride[axis];
  if (x.rank() > 0) {
    y.shape[axis] = (length - size) / step + 1;
    y.stride[axis] = checked::multiply(stride, step);
  }
  y.shape.push_back(size);
  y.stride.push_back(stride);
  elements(y.shape);
  return with_layout(x, y);
}

// --- x[...] ---

class Indexing {
 public:
  Indexing(const Current& x, const Step& step) : x_(x), y_(with_layout(x, x.layout)), step_(step) {}

  Current result() {
    int named = 0;
    for (const IndexItem& item : step_.index) {
      named += item.kind != IndexItem::Kind::new_axis && item.kind != IndexItem::Kind::ellipsis;
      lists_ += item.kind == IndexItem::Kind::list;
    }
    if (named > x_.rank())
      fail(std::to_string(named) + " indices are too many for a tensor of " + std::to_string(x_.rank()) + " axes, " +
           to_string(x_.shape()));
    if (lists_ > 1) fail("only one list in an index is handled here");
    for (const IndexItem& item : step_.index) apply(item, x_.rank() - named);
    return gathered_axis_ ? gathered() : y_;
  }

 private:
  void apply(const IndexItem& item, int skipped_by_ellipsis) {
    const bool needs_axis = item.kind != IndexItem::Kind::new_axis && item.kind != IndexItem::Kind::ellipsis;
    if (needs_axis && at_ >= y_.rank()) fail("there are more indices than axes");
    switch (item.kind) {
      case IndexItem::Kind::ellipsis: at_ += skipped_by_ellipsis; break;
      case IndexItem::Kind::new_axis:
        if (y_.rank() == Dims::max_rank) fail("a tensor has at most " + std::to_string(Dims::max_rank) + " axes here");
        if (at_ > y_.rank()) fail("there is no place for a new axis");
        y_.layout = unsqueeze(y_.layout, at_++);
        break;
      case IndexItem::Kind::integer: y_.layout = select(y_.layout, at_, index_in(item.integer)); break;
      case IndexItem::Kind::slice: apply_slice(item); break;
      case IndexItem::Kind::list:
        for (const Count index : item.list) index_in(index);
        y_.layout.shape[at_] = static_cast<Count>(item.list.size());
        y_.layout.stride[at_] = 0;  // the kernel adds each index's own offset
        elements(y_.layout.shape);
        gathered_axis_ = at_++;
        break;
    }
  }

  // The elements at the listed places, copied: an element-wise operation on the tensor and the list.
  Current gathered() const {
    if (elements(y_.shape()) == 0) return copy_of(y_, y_.shape());
    Dims list_shape;
    for (int i = 0; i < y_.rank(); ++i) list_shape.push_back(i == *gathered_axis_ ? y_.shape()[i] : 1);
    const Layout list = Layout::contiguous(list_shape);
    return copy_with_strides(y_, elementwise_strides(y_.shape(), {&y_.layout, &list}));
  }

  void apply_slice(const IndexItem& item) {
    const Count length = y_.shape()[at_], step = item.step.value_or(1);
    if (step <= 0)
      fail("the step " + std::to_string(step) + " is not positive: PyTorch has no views with negative strides",
           step < 0 ? "flip copies a tensor in reverse order" : "");
    const auto clamped = [&](Count place) { return std::clamp<Count>(place < 0 ? place + length : place, 0, length); };
    const Count start = clamped(item.start.value_or(0));
    const Count stop = std::max(clamped(item.stop.value_or(length)), start);
    y_.layout = slice(y_.layout, at_++, start, ceil_div(stop - start, step), step);
  }

  Count index_in(Count index) {
    const std::optional<Count> place = wrapped(index, y_.shape()[at_]);
    if (!place)
      fail("index " + std::to_string(index) + " is out of range for an axis of length " +
           std::to_string(y_.shape()[at_]));
    return *place;
  }

  [[noreturn]] void fail(const std::string& what, std::string hint = {}) const {
    throw Error(Exit::bad_input, in_quotes(to_string(step_)) + ": " + what, std::move(hint));
  }

  const Current& x_;
  Current y_;
  const Step& step_;
  int at_ = 0;  // the axis that the next item is about
  int lists_ = 0;
  std::optional<int> gathered_axis_ = {};  // of the list
};

}  // namespace

Current Pieces::piece(Count index) const {
  if (drop_axis) return with_layout(whole, select(whole.layout, axis, index));
  Count start = 0, size = 0;
  if (lengths.empty()) {
    start = index * length;
    size = std::min(length, whole.shape()[axis] - start);
  } else {
    for (Count i = 0; i < index; ++i) start += lengths[static_cast<std::size_t>(i)];
    size = lengths[static_cast<std::size_t>(index)];
  }
  return with_layout(whole, slice(whole.layout, axis, start, size));
}

Current apply_index(const Current& x, const Step& step) { return Indexing(x, step).result(); }

const std::vector<Operation>& piece_operations() {
  static const std::vector<Operation> all = {
      {"select", "dim, index", select_op},
      {"narrow", "dim, start, length", narrow_op},
      {"chunk", "chunks, dim=0", chunk_op},
      {"split", "split_size, dim=0", split_op},
      {"tensor_split", "indices_or_sections, dim=0", tensor_split_op},
      {"unbind", "dim=0", unbind_op},
      {"diagonal", "offset=0, dim1=0, dim2=1", diagonal_op},
      {"unfold", "dimension, size, step", unfold_op},
  };
  return all;
}

}  // namespace llmcalc::expression
