// Shape, strides and offset of a tensor, and what views do to them. Pure arithmetic: no storage, no dtype.
// The rules are PyTorch's (aten/src/ATen/TensorUtils.cpp, TensorIterator.cpp; checked against tensors.json).
#pragma once

#include <array>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "core/few.hpp"
#include "core/units.hpp"

namespace llmcalc {

// A short list of lengths or strides, kept inline because traces make very many of them.
class Dims {
 public:
  static constexpr int max_rank = 8;

  Dims() {}  // leaves the values unset, unlike `= default`
  Dims(std::initializer_list<Count> values);

  int rank() const { return rank_; }
  bool empty() const { return rank_ == 0; }
  Count& operator[](int i) { return values_[static_cast<std::size_t>(i)]; }
  Count operator[](int i) const { return values_[static_cast<std::size_t>(i)]; }
  Count back() const { return (*this)[rank_ - 1]; }
  const Count* begin() const { return values_.data(); }
  const Count* end() const { return values_.data() + rank_; }
  void push_back(Count value);  // throws std::length_error past max_rank
  void insert(int at, Count value);
  void erase(int at);
  void resize(int rank) { rank_ = rank; }

  friend bool operator==(const Dims& a, const Dims& b);
  friend bool operator!=(const Dims& a, const Dims& b) { return !(a == b); }

 private:
  std::array<Count, max_rank> values_;  // the first rank_ are set
  int rank_ = 0;
};

// "(2, 3, 4)"
std::string to_string(const Dims& dims);

// Product of the lengths; 1 for a scalar. Throws Overflow.
Count elements(const Dims& shape);

// Row-major strides.
Dims contiguous_strides(const Dims& shape);

struct Layout {
  Dims shape;
  Dims stride;  // in elements
  Count offset = 0;

  static Layout contiguous(const Dims& shape) { return {shape, contiguous_strides(shape), 0}; }

  bool is_contiguous() const;
  // Covers a block of memory without holes or overlaps, in whatever order.
  bool is_dense() const;
  // Elements from the first to the last one addressed, both included (CuTe's cosize); 0 when empty.
  Count span() const;
};

// Views. Axes are already normalised to 0 <= axis < rank; lengths are valid (callers check and explain).
Layout transpose(const Layout& x, int a, int b);
Layout permute(const Layout& x, const std::vector<int>& order);
Layout slice(const Layout& x, int axis, Count start, Count length, Count step = 1);
Layout select(const Layout& x, int axis, Count index);
Layout unsqueeze(const Layout& x, int axis);
Layout squeeze(const Layout& x, int axis);  // unchanged unless the length is 1
// Throws std::invalid_argument naming the axis when a length other than 1 would have to change.
Layout expand(const Layout& x, const Dims& shape);
// Strides that show the same elements under `shape`, or nothing where a copy is needed.
std::optional<Layout> view(const Layout& x, const Dims& shape);

// Throws std::invalid_argument naming the axis and both lengths when they do not broadcast.
Dims broadcast(const Dims& a, const Dims& b);

// Strides PyTorch gives the output of an element-wise operation (TensorIterator: the operands' order of axes).
Dims elementwise_strides(const Dims& shape, const Few<const Layout*, 4>& operands);
// Strides of empty_like and of a dtype conversion: a dense layout is kept, others go by the order of their axes.
Dims strides_like(const Layout& x);

}  // namespace llmcalc
