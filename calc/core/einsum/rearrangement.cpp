#include "core/einsum/rearrangement.hpp"

#include <algorithm>

#include "core/diagnostics.hpp"
#include "core/quantity.hpp"
#include "core/suggest.hpp"
#include "core/tensor_expression/expression.hpp"

namespace llmcalc::einsum {
namespace {

[[noreturn]] void fail(const std::string& message, std::string hint = {}) {
  throw Error(Exit::bad_input, message, std::move(hint));
}

constexpr Count unknown = -1;

// An elementary axis with its length; anonymous ones have a name no other axis can have.
struct Known {
  std::string name;
  Count length = unknown;
  bool given = false;  // on the command line
};

Count times(Count a, Count b) {
  Count product = 0;
  if (__builtin_mul_overflow(a, b, &product) || product > expression::max_elements)
    fail("the result has more than 2^62 elements");
  return product;
}

class Application {
 public:
  Application(const Pattern& pattern, Rearrangement kind, const Dims& shape, const AxisLengths& lengths)
      : pattern_(pattern), kind_(kind), shape_(shape), given_(lengths) {}

  Rearranged run() {
    expand_ellipsis();
    for (const auto& group : left_) {
      for (const std::string& name : group) {
        add(name);
        left_flat_.push_back(index_of(name));
      }
    }
    for (const auto& group : right_)
      for (const std::string& name : group)
        if (index_of(name) == axes_.size()) add(name);
    take_given();
    for (std::size_t i = 0; i < left_.size(); ++i) solve(left_[i], i);
    for (const Known& axis : axes_) {
      if (axis.length == unknown)
        fail("axis " + axis.name + " has no length: it is new in " + in_quotes(to_string(pattern_)),
             "give it, as in " + axis.name + "=3");
    }
    return result();
  }

 private:
  using Names = std::vector<std::string>;

  static std::string name_of(const Axis& axis, int& anonymous) {
    return axis.name.empty() ? std::to_string(axis.length) + "#" + std::to_string(anonymous++) : axis.name;
  }

  void expand_ellipsis() {
    const auto in_left = static_cast<int>(pattern_.left.size());
    const bool open = std::any_of(pattern_.left.begin(), pattern_.left.end(), is_ellipsis_group);
    if (open ? shape_.rank() < in_left - 1 : shape_.rank() != in_left)
      fail(in_quotes(to_string(pattern_)) + " takes a tensor of " + (open ? "at least " : "") +
           std::to_string(open ? in_left - 1 : in_left) + " axes; " + llmcalc::to_string(shape_) + " has " +
           std::to_string(shape_.rank()));
    for (int i = 0; open && i < shape_.rank() - (in_left - 1); ++i) ellipsis_.push_back("..." + std::to_string(i));
    int anonymous = 0;
    left_ = expanded(pattern_.left, anonymous);
    right_ = expanded(pattern_.right, anonymous);
  }

  static bool is_ellipsis_group(const Group& group) {
    return !group.in_brackets && group.axes.size() == 1 && group.axes[0].is_ellipsis();
  }

  std::vector<Names> expanded(const std::vector<Group>& side, int& anonymous) const {
    std::vector<Names> groups;
    for (const Group& group : side) {
      if (is_ellipsis_group(group)) {
        for (const std::string& name : ellipsis_) groups.push_back({name});
        continue;
      }
      Names names;
      for (const Axis& axis : group.axes) {
        if (axis.is_ellipsis()) {
          names.insert(names.end(), ellipsis_.begin(), ellipsis_.end());
        } else {
          names.push_back(name_of(axis, anonymous));
        }
      }
      groups.push_back(std::move(names));
    }
    return groups;
  }

  std::size_t index_of(const std::string& name) const {
    std::size_t i = 0;
    while (i < axes_.size() && axes_[i].name != name) ++i;
    return i;
  }

  void add(const std::string& name) {
    Known axis{name, unknown, false};
    const std::size_t mark = name.find('#');  // anonymous: "2#0"
    if (mark != std::string::npos) axis.length = *parse_count(name.substr(0, mark));
    axes_.push_back(axis);
  }

  void take_given() {
    for (const auto& [name, length] : given_) {
      const std::size_t i = index_of(name);
      if (i == axes_.size() || name.find_first_of(".#") != std::string::npos) {
        std::vector<std::string> known;
        for (const Known& axis : axes_) known.push_back(axis.name);
        fail("axis " + in_quotes(name) + " is not in " + in_quotes(to_string(pattern_)), did_you_mean(name, known));
      }
      axes_[i].length = length;
      axes_[i].given = true;
    }
  }

  // The one unknown length in the group of axes that an axis of the tensor is split into.
  void solve(const Names& group, std::size_t place) {
    const Count length = shape_[static_cast<int>(place)];
    const std::string where = "axis " + std::to_string(place) + " of " + llmcalc::to_string(shape_) + ", of length " +
                              std::to_string(length) + ",";
    Count known = 1;
    std::size_t open = axes_.size();
    std::string names;
    for (const std::string& name : group) {
      const std::size_t i = index_of(name);
      names += (names.empty() ? "" : " ") + name.substr(0, name.find('#'));
      if (axes_[i].length != unknown) {
        known = times(known, axes_[i].length);
      } else if (open != axes_.size()) {
        fail(where + " is split into (" + names + " ...), and more than one of these lengths is not known",
             "give one, as in " + name + "=4");
      } else {
        open = i;
      }
    }
    if (open == axes_.size()) {
      if (known != length)
        fail(where + " should be " + (names.empty() ? "1" : names + " = " + std::to_string(known)),
             group.size() == 1 && axes_[index_of(group[0])].given ? "leave out " + group[0] + "= to take it as it is"
                                                                  : "");
    } else if (known == 0 || length % known != 0) {
      fail(where + " does not divide into (" + names + "): " + std::to_string(length) + " is no multiple of " +
           std::to_string(known));
    } else {
      axes_[open].length = length / known;
    }
  }

  Rearranged result() {
    Rearranged r;
    r.elements_in = elements(shape_);
    Count out = 1;
    for (const Names& group : right_) {
      Count length = 1;
      for (const std::string& name : group) length = times(length, axes_[index_of(name)].length);
      if (r.shape.rank() == Dims::max_rank)
        fail("the result has more than " + std::to_string(Dims::max_rank) + " axes, the most that are handled here");
      r.shape.push_back(length);
      out = times(out, std::max<Count>(length, 1));
    }
    r.elements_out = elements(r.shape);
    for (const Known& axis : axes_) r.lengths.emplace_back(axis.name.substr(0, axis.name.find('#')), axis.length);
    r.copies = kind_ == Rearrangement::reduce;
    if (kind_ != Rearrangement::reduce) lay_out(r);
    return r;
  }

  // As einops does it: split, permute, expand along new axes, merge.
  void lay_out(Rearranged& r) const {
    // Axes of length 1 move no element; they are left out where there would be too many axes.
    const bool all = axes_.size() <= static_cast<std::size_t>(Dims::max_rank);
    const auto counts = [&](std::size_t axis) { return all || axes_[axis].length != 1; };
    std::vector<std::size_t> split;
    for (const std::size_t axis : left_flat_)
      if (counts(axis)) split.push_back(axis);
    std::vector<std::size_t> wanted;
    bool merges = false;
    for (const Names& group : right_) {
      merges = merges || group.size() != 1;
      for (const std::string& name : group)
        if (counts(index_of(name))) wanted.push_back(index_of(name));
    }
    if (std::max(split.size(), wanted.size()) > static_cast<std::size_t>(Dims::max_rank))
      fail("the pattern has more than " + std::to_string(Dims::max_rank) + " axes, the most that are handled here");
    Layout x = *view(Layout::contiguous(shape_), lengths_of(split));  // a contiguous tensor can be split in any way
    std::vector<int> order, added;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const auto from = std::find(split.begin(), split.end(), wanted[i]);
      if (from == split.end()) {
        added.push_back(static_cast<int>(i));
      } else {
        order.push_back(static_cast<int>(from - split.begin()));
      }
    }
    x = permute(x, order);
    for (const int place : added) x = unsqueeze(x, place);
    if (!added.empty()) x = expand(x, lengths_of(wanted));
    const std::optional<Layout> seen = merges ? view(x, r.shape) : x;
    r.copies = !seen;
    r.stride = seen ? seen->stride : contiguous_strides(r.shape);
  }

  Dims lengths_of(const std::vector<std::size_t>& axes) const {
    Dims lengths;
    for (const std::size_t axis : axes) lengths.push_back(axes_[axis].length);
    return lengths;
  }

  const Pattern& pattern_;
  Rearrangement kind_;
  const Dims& shape_;
  const AxisLengths& given_;
  Names ellipsis_;
  std::vector<Names> left_, right_;
  std::vector<Known> axes_;
  std::vector<std::size_t> left_flat_;
};

}  // namespace

AxisLengths parse_axis_lengths(const std::vector<std::string>& words) {
  AxisLengths lengths;
  Diagnostics problems;
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos || equals == 0) {
      problems.error({}, in_quotes(word) + " is not of the form axis=length", "for example h=4");
      continue;
    }
    const std::string name = word.substr(0, equals);
    const Parsed<Count> length = parse_count(word.substr(equals + 1));
    const bool again =
        std::any_of(lengths.begin(), lengths.end(), [&](const auto& known) { return known.first == name; });
    if (!length) {
      problems.error({}, name + ": " + length.message, length.hint);
    } else if (*length < 1) {
      problems.error({}, name + ": an axis has to have a length above 0");
    } else if (again) {
      problems.error({}, "axis " + in_quotes(name) + " is given twice");
    } else {
      lengths.emplace_back(name, *length);
    }
  }
  problems.throw_if_errors();
  return lengths;
}

Rearranged apply(const Pattern& pattern, Rearrangement kind, const Dims& shape, const AxisLengths& lengths) {
  try {
    return Application(pattern, kind, shape, lengths).run();
  } catch (const Overflow&) {
    fail("the lengths of this pattern pass 64 bits");
  }
}

}  // namespace llmcalc::einsum
