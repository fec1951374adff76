// Binding the arguments of a call to parameters, with messages in terms of both.
#include <algorithm>

#include "core/tensor_expression/operations.hpp"

namespace llmcalc::expression {
namespace {

std::vector<std::string> split_names(std::string_view parameters) {
  std::vector<std::string> names;
  while (!parameters.empty()) {
    const std::size_t comma = parameters.find(", ");
    names.emplace_back(parameters.substr(0, comma));
    parameters = comma == std::string_view::npos ? "" : parameters.substr(comma + 2);
  }
  return names;
}

}  // namespace

Bound::Bound(const Step& step, std::string_view parameters, const Current& on)
    : step_(step), on_(on), names_(split_names(parameters)) {
  std::vector<bool> required;
  const bool packs = !names_.empty() && names_.front().front() == '*';
  if (packs) names_.front().erase(0, 1);
  for (std::string& name : names_) {
    const std::size_t equals = name.find('=');
    required.push_back(equals == std::string::npos && !packs);
    name = name.substr(0, equals);
  }
  values_.resize(names_.size());
  std::size_t place = 0;
  Value packed;
  packed.kind = Value::Kind::list;
  bool any_packed = false;
  for (const Argument& argument : step.arguments) {
    if (!argument.name.empty()) {
      const auto found = std::find(names_.begin(), names_.end(), argument.name);
      if (found == names_.end())
        fail("there is no parameter " + in_quotes(argument.name),
             names_.empty() ? "it takes no arguments" : "it takes " + join(names_));
      auto& slot = values_[static_cast<std::size_t>(found - names_.begin())];
      if (slot) fail(in_quotes(argument.name) + " is given twice");
      slot = argument.value;
    } else if (packs && argument.value.kind == Value::Kind::integer) {
      packed.list.push_back(argument.value);
      any_packed = true;
    } else if (place < names_.size() && !any_packed) {
      values_[place++] = argument.value;
    } else {
      fail("too many arguments", names_.empty() ? "it takes none" : "it takes " + join(names_));
    }
  }
  if (any_packed) {
    if (values_[0]) fail(in_quotes(names_[0]) + " is given twice");
    values_[0] = packed;
  }
  for (std::size_t i = 0; i < names_.size(); ++i) {
    if (values_[i] && values_[i]->kind == Value::Kind::none && !required[i]) values_[i].reset();
    if (required[i] && !values_[i]) fail("needs " + names_[i], "it takes " + join(names_));
  }
}

void Bound::fail(const std::string& what, std::string hint) const {
  constexpr std::size_t longest = 200;  // of an operation in a message
  std::string text = to_string(step_);
  if (text.size() > longest) text = text.substr(0, longest) + "...";
  throw Error(Exit::bad_input, text + ": " + what, std::move(hint));
}

void Bound::wrong_kind(std::size_t i, const char* needed) const { fail(names_[i] + " has to be " + needed); }

Count Bound::integer(std::size_t i) const {
  const Value& v = value(i);
  if (v.kind == Value::Kind::list && v.list.size() == 1 && v.list[0].kind == Value::Kind::integer)
    return v.list[0].integer;
  if (v.kind != Value::Kind::integer) wrong_kind(i, "a whole number");
  return v.integer;
}

std::vector<Count> Bound::integers(std::size_t i) const {
  const Value& v = value(i);
  if (v.kind == Value::Kind::integer) return {v.integer};
  if (v.kind != Value::Kind::list) wrong_kind(i, "whole numbers");
  std::vector<Count> numbers;
  for (const Value& item : v.list) {
    if (item.kind != Value::Kind::integer) wrong_kind(i, "whole numbers");
    numbers.push_back(item.integer);
  }
  return numbers;
}

int Bound::normal_axis(Count axis, int rank) const {
  const Count axes = std::max(rank, 1);
  if (axis < -axes || axis >= axes)
    fail("axis " + std::to_string(axis) + " is out of range: a tensor of shape " + to_string(on_.shape()) +
         " has axes " + std::to_string(-axes) + " to " + std::to_string(axes - 1));
  return static_cast<int>(axis < 0 ? axis + axes : axis);
}

Dims as_dims(const Bound& bound, const std::vector<Count>& lengths) {
  if (lengths.size() > static_cast<std::size_t>(Dims::max_rank))
    bound.fail("more than " + std::to_string(Dims::max_rank) + " axes, the most that are handled here");
  Dims dims;
  for (const Count length : lengths) dims.push_back(length);
  return dims;
}

}  // namespace llmcalc::expression
