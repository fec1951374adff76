// What profiles of devices and of nodes are read with: numbers with units, maps inside maps.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "core/fields.hpp"
#include "core/quantity.hpp"

namespace llmcalc {

// Beyond these a figure is a slip of the pen, and what follows from it not even finite.
constexpr double least_rate = 1e6;  // B/s, FLOP/s
constexpr double most_of_anything = 1e21;

// A number with its unit; must be greater than zero, and of this world. Nothing when the key is absent or in error.
template <class T>
std::optional<T> quantity(Fields& fields, const char* key, Parsed<T> (*parse)(std::string_view)) {
  const Value* value = fields.raw(key);
  if (!value) return std::nullopt;
  const bool scalar =
      value->kind == Value::Kind::text || value->kind == Value::Kind::integer || value->kind == Value::Kind::real;
  Parsed<T> parsed = scalar ? parse(value->text) : Parsed<T>{{}, "must be a number with its unit", {}};
  if (!parsed) {
    fields.error(key, std::move(parsed.message), std::move(parsed.hint));
    return std::nullopt;
  }
  if (!(T(0) < *parsed)) {
    fields.error(key, "must be greater than zero");
    return std::nullopt;
  }
  constexpr bool is_rate = std::is_same_v<T, BytesPerSecond> || std::is_same_v<T, FlopsPerSecond>;
  const double amount = static_cast<double>((*parsed).value());
  if (amount > most_of_anything || (is_rate && amount < least_rate)) {
    fields.error(key, "is far from what any device has");
    return std::nullopt;
  }
  return *parsed;
}

// What may join a device to another ("nvlink", ...).
const std::vector<std::string>& link_names();

// The map under `key`, or an empty one.
const Value& map_under(Fields& fields, const char* key, bool required = false);

std::map<std::string, std::string> texts_under(Fields& fields, const char* key, Diagnostics& diagnostics);

}  // namespace llmcalc
