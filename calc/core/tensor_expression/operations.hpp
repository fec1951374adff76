// The operations a chain can have: what they take and what they do. Shared by the files of this folder only.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/diagnostics.hpp"
#include "core/suggest.hpp"
#include "core/tensor_expression/expression.hpp"

namespace llmcalc::expression {

// A tensor between two steps.
struct Current {
  DType dtype = DType::float32;
  Layout layout = {};
  std::size_t storage = 0;
  Int128 storage_bytes = 0;
  bool copied = false;  // by this step: it lies in a storage of its own, which holds just its elements

  const Dims& shape() const { return layout.shape; }
  int rank() const { return layout.shape.rank(); }
};

// What chunk, split and unbind give: pieces along an axis, made when asked for because there may be very many.
struct Pieces {
  Current whole = {};
  int axis = 0;
  Count count = 0;
  bool drop_axis = false;  // unbind
  Count length = 0;        // of each but the last, when `lengths` is empty
  std::vector<Count> lengths = {};
  std::string op = {};  // what made them, for messages

  Current piece(Count index) const;  // 0 <= index < count
};

using Result = std::variant<Current, Pieces>;

// The arguments of a call, bound to the parameters' names.
class Bound {
 public:
  // `parameters` as in Python without types: "dim0, dim1", "*size", "dim=None". A star takes all numbers by place, or
  // one list.
  Bound(const Step& step, std::string_view parameters, const Current& on);

  bool has(std::size_t i) const { return values_[i].has_value(); }
  const Value& value(std::size_t i) const { return *values_[i]; }
  Count integer(std::size_t i) const;
  Count integer_or(std::size_t i, Count otherwise) const { return has(i) ? integer(i) : otherwise; }
  std::vector<Count> integers(std::size_t i) const;  // a list, or one number
  bool is_list(std::size_t i) const { return value(i).kind == Value::Kind::list; }
  // The axis 0 <= axis < rank; PyTorch lets a scalar have the axis 0.
  int axis(std::size_t i) const { return normal_axis(integer(i), on_.rank()); }
  int axis_or(std::size_t i, Count otherwise) const { return normal_axis(integer_or(i, otherwise), on_.rank()); }
  int normal_axis(Count axis, int rank) const;

  // "transpose(0, 5): <what>"
  [[noreturn]] void fail(const std::string& what, std::string hint = {}) const;

 private:
  [[noreturn]] void wrong_kind(std::size_t i, const char* needed) const;

  const Step& step_;
  const Current& on_;
  std::vector<std::string> names_;
  std::vector<std::optional<Value>> values_;
};

struct Operation {
  const char* name;
  const char* parameters;
  Result (*apply)(const Current&, const Bound&);
  bool attribute = false;  // written without brackets: T
};

const std::vector<Operation>& view_operations();   // axes.cpp: never copy
const std::vector<Operation>& shape_operations();  // shapes.cpp: view, reshape and relatives
const std::vector<Operation>& piece_operations();  // pieces.cpp: select, chunk, split, diagonal, ...
const std::vector<Operation>& copy_operations();   // copies.cpp: contiguous, clone, to, repeat

// x[...]
Current apply_index(const Current& x, const Step& step);

// A new storage for a tensor of this shape, contiguous or with these strides.
Current copy_of(const Current& x, const Dims& shape);
Current copy_with_strides(const Current& x, const Dims& stride);

Current with_layout(const Current& x, Layout layout);  // the same storage

// x.reshape(shape): a view where one exists, else a copy.
Current reshaped(const Current& x, const Dims& shape);

// Lengths as numbers, at most Dims::max_rank of them, else fails.
Dims as_dims(const Bound& bound, const std::vector<Count>& lengths);

}  // namespace llmcalc::expression
