// A matrix of floats in memory, row by row or column by column.
#pragma once

#include "core/units.hpp"

namespace llmcalc {

struct Matrix {
  const float* data = nullptr;
  Count row = 0, column = 1;  // elements from one row, one column to the next

  const float& at(Count i, Count j) const { return data[i * row + j * column]; }
  Matrix from(Count i, Count j) const { return {&at(i, j), row, column}; }
};

// All of it, without gaps; `turned`: column by column.
inline Matrix whole_matrix(const float* data, Count rows, Count columns, bool turned) {
  return turned ? Matrix{data, 1, rows} : Matrix{data, columns, 1};
}

}  // namespace llmcalc
