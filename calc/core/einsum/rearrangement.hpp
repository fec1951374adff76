// The notation of einops, "b s (h d) -> b h s d": rearrange, reduce and repeat.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/layout.hpp"

namespace llmcalc::einsum {

// One elementary axis of a pattern: a name, "..." or, anonymous, its length.
struct Axis {
  std::string name;  // empty: anonymous
  Count length = 0;  // of an anonymous one, at least 2

  bool is_ellipsis() const { return name == "..."; }
};

// One axis of a tensor: the elementary axes that it is made of; none for 1 or ().
struct Group {
  std::vector<Axis> axes;
  bool in_brackets = false;
};

struct Pattern {
  std::vector<Group> left, right;
};

bool operator==(const Axis& a, const Axis& b);
bool operator==(const Group& a, const Group& b);
bool operator==(const Pattern& a, const Pattern& b);

enum class Rearrangement : unsigned char { rearrange, reduce, repeat };

// Throws Error(bad_input) for what einops refuses, whatever the shape.
Pattern parse_pattern(std::string_view text, Rearrangement kind);
std::string to_string(const Pattern& pattern);

using AxisLengths = std::vector<std::pair<std::string, Count>>;

// "h=4" and so on. Throws Error(bad_input).
AxisLengths parse_axis_lengths(const std::vector<std::string>& words);

struct Rearranged {
  Dims shape;
  std::optional<Dims> stride;  // of rearrange and repeat
  bool copies = false;         // else the result is a view
  Count elements_in = 0, elements_out = 0;
  std::vector<std::pair<std::string, Count>> lengths;  // of each elementary axis, in order
};

// Throws Error(bad_input) naming the axis and both lengths where the pattern does not fit.
Rearranged apply(const Pattern& pattern, Rearrangement kind, const Dims& shape, const AxisLengths& lengths);

}  // namespace llmcalc::einsum
