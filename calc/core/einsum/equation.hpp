// The notation of torch.einsum, "bij,bjk->bik", and what its letters mean for given shapes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/layout.hpp"

namespace llmcalc::einsum {

// As written: letters, and '.' for an ellipsis.
struct Equation {
  std::vector<std::string> operands;
  std::optional<std::string> output;  // nothing: implicit
};

bool operator==(const Equation& a, const Equation& b);

// Throws Error(bad_input): a character that is no letter, two ellipses in one operand, a letter in the output that no
// operand has, a letter twice in the output.
Equation parse_equation(std::string_view text);
std::string to_string(const Equation& equation);  // "bij,bjk->bik", "...ij->...ji"

// Axes of the equation are numbered; a set of them is a bit mask.
using AxisSet = std::uint64_t;

struct Problem {
  std::vector<std::string> names;  // of each axis: "i"; those of the ellipsis "...0", "...1"
  std::vector<Count> lengths;      // of each axis, broadcast
  std::vector<AxisSet> operands;   // axes along which each operand really extends: neither broadcast (length 1 where
                                   // another operand has more) nor the second of a repeated pair
  std::vector<int> output_axes;    // in order
  AxisSet output = 0;
  Dims shape;              // of the result
  Int128 elements_in = 0;  // of all operands

  Int128 size(AxisSet axes) const;  // product of lengths; throws Overflow
  std::string letters(AxisSet axes) const;
};

// Throws Error(bad_input) naming axis and lengths where the shapes do not fit the equation or one another.
Problem bind(const Equation& equation, const std::vector<Dims>& shapes);

}  // namespace llmcalc::einsum
