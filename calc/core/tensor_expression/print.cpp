// Steps back to text, in one form.
#include "core/tensor_expression/expression.hpp"

namespace llmcalc::expression {
namespace {

template <class T, class Write>
std::string comma_separated(const std::vector<T>& items, Write write) {
  std::string text;
  for (const T& item : items) text += (text.empty() ? "" : ", ") + write(item);
  return text;
}

std::string to_text(const Value& value) {
  switch (value.kind) {
    case Value::Kind::integer: return std::to_string(value.integer);
    case Value::Kind::boolean: return value.integer != 0 ? "True" : "False";
    case Value::Kind::none: return "None";
    case Value::Kind::dtype: return "torch." + std::string(name_of(value.dtype));
    case Value::Kind::word: return "'" + value.word + "'";
    case Value::Kind::list: break;
  }
  return "(" + comma_separated(value.list, to_text) + (value.list.size() == 1 ? ",)" : ")");
}

std::string to_text(const Argument& argument) {
  return (argument.name.empty() ? "" : argument.name + "=") + to_text(argument.value);
}

std::string to_text(const IndexItem& item) {
  const auto number = [](const std::optional<Count>& n) { return n ? std::to_string(*n) : std::string(); };
  switch (item.kind) {
    case IndexItem::Kind::integer: return std::to_string(item.integer);
    case IndexItem::Kind::slice:
      return number(item.start) + ":" + number(item.stop) + (item.step ? ":" + number(item.step) : "");
    case IndexItem::Kind::new_axis: return "None";
    case IndexItem::Kind::ellipsis: return "...";
    case IndexItem::Kind::list: break;
  }
  return "[" + comma_separated(item.list, [](Count n) { return std::to_string(n); }) + "]";
}

}  // namespace

std::string to_string(const Step& step) {
  if (step.kind == Step::Kind::index)
    return "[" + comma_separated(step.index, [](const IndexItem& item) { return to_text(item); }) + "]";
  if (step.kind == Step::Kind::attribute) return step.name;
  return step.name + "(" + comma_separated(step.arguments, [](const Argument& a) { return to_text(a); }) + ")";
}

std::string to_string(const Chain& chain) {
  std::string text = "x";
  for (const Step& step : chain) text += (step.kind == Step::Kind::index ? "" : ".") + to_string(step);
  return text;
}

bool operator==(const Value& a, const Value& b) {
  if (a.kind != b.kind || a.integer != b.integer || a.word != b.word || a.list != b.list) return false;
  return a.kind != Value::Kind::dtype || a.dtype == b.dtype;
}

bool operator==(const Argument& a, const Argument& b) { return a.name == b.name && a.value == b.value; }

bool operator==(const IndexItem& a, const IndexItem& b) {
  return a.kind == b.kind && a.integer == b.integer && a.start == b.start && a.stop == b.stop && a.step == b.step &&
         a.list == b.list;
}

bool operator==(const Step& a, const Step& b) {
  return a.kind == b.kind && a.name == b.name && a.arguments == b.arguments && a.index == b.index;
}

}  // namespace llmcalc::expression
