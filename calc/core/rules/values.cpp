// Reading and printing the values of symbols, by unit and kind.
#include "core/rules/values.hpp"

#include <cmath>
#include <limits>

#include "core/dtype.hpp"
#include "core/quantity.hpp"
#include "core/suggest.hpp"

namespace llmcalc::rule {
namespace {

constexpr std::size_t most_values = 1000;  // of a list; an expression grows one level for each
constexpr Count seconds_per_hour = 3600;
constexpr Dimension dollar_per_second = dim::dollar / dim::second;

// A parsed value, or what to say.
using Read = Parsed<Number>;

template <class T>
Read number_of(const Parsed<T>& parsed) {
  if (!parsed) return {std::nullopt, parsed.message, parsed.hint};
  if constexpr (std::is_same_v<T, Count> || std::is_same_v<T, Int128>) {
    return {Number(*parsed), {}, {}};
  } else if constexpr (std::is_same_v<T, Bytes>) {
    return {Number((*parsed).value()), {}, {}};
  } else if constexpr (std::is_same_v<T, double>) {
    return {Number::as_written(*parsed), {}, {}};
  } else {
    return {Number::as_written((*parsed).value()), {}, {}};
  }
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// Takes one of the endings off; false when none is there.
bool take_end(std::string_view& text, std::initializer_list<std::string_view> endings) {
  for (const std::string_view ending : endings) {
    if (!text.ends_with(ending) || text.size() == ending.size()) continue;
    text = trimmed(text.substr(0, text.size() - ending.size()));
    return true;
  }
  return false;
}

// A count, or a plain number: 4096, 1B, 6.7k, 0.05, -18.
Read plain_number(std::string_view text) {
  if (const auto number = parse_number(text)) return number_of(number);
  const auto count = parse_large_count(text);
  if (count) return number_of(count);
  return {std::nullopt, in_quotes(text) + " is not a number", {}};
}

// 6e19, 6e19 FLOP, 60 EFLOP.
Read flop_amount(std::string_view text) {
  if (!take_end(text, {"FLOPs", "FLOP"})) return number_of(parse_large_count(text));
  constexpr struct {
    char letter;
    Count size;
  } prefixes[] = {{'k', 1'000},
                  {'M', 1'000'000},
                  {'G', 1'000'000'000},
                  {'T', 1'000'000'000'000},
                  {'P', 1'000'000'000'000'000},
                  {'E', 1'000'000'000'000'000'000}};
  for (const auto& prefix : prefixes) {
    if (text.empty() || text.back() != prefix.letter) continue;
    const auto number = parse_number(trimmed(text.substr(0, text.size() - 1)));
    if (!number) return number_of(number);
    return {Number::as_written(*number) * Number(prefix.size), {}, {}};
  }
  return number_of(parse_large_count(text));
}

Read energy(std::string_view text) {
  const bool kilowatt_hours = take_end(text, {"kWh"});
  const bool megajoules = !kilowatt_hours && take_end(text, {"MJ"});
  if (!kilowatt_hours && !megajoules && !take_end(text, {"J"})) {
    return {std::nullopt, in_quotes(text) + " has no unit of energy", {}};
  }
  const Read number = plain_number(text);
  constexpr Count joules_per_megajoule = 1'000'000;
  const Count joules = kilowatt_hours ? 1000 * seconds_per_hour : megajoules ? joules_per_megajoule : 1;
  return number ? Read{*number * Number(joules), {}, {}} : number;
}

Read money(std::string_view text, bool per_hour) {
  if (per_hour) take_end(text, {"/hour", "/h"});
  take_end(text, {"USD", "$"});
  if (!text.empty() && text.front() == '$') text = trimmed(text.substr(1));
  const Read number = plain_number(text);
  return number && per_hour ? Read{*number / Number(seconds_per_hour), {}, {}} : number;
}

// Bytes of one value: a number, or the name of a type.
Read value_width(std::string_view text) {
  constexpr struct {
    std::string_view name;
    int bits;
  } others[] = {{"uint16", 16}, {"uint32", 32}, {"tf32", 32}, {"fp8", 8}, {"int4", 4}, {"fp4", 4}, {"nf4", 4}};
  if (const auto dtype = dtype_named(text)) return {Number(size_of(*dtype).value()), {}, {}};
  for (const auto& other : others) {
    if (text == other.name) return {Number::fraction(other.bits, 8), {}, {}};
  }
  take_end(text, {"bytes", "B"});
  Read number = plain_number(text);
  if (!number) number.message = in_quotes(text) + " is neither a number of bytes nor a known type";
  return number;
}

// Units without a parser of their own (B/parameter, FLOP/token): a number, the unit behind it if one likes.
Read other_unit(std::string_view text, Dimension unit) {
  if (unit == dim::flop / dim::token) {
    take_end(text, {"/token"});
    return flop_amount(text);
  }
  const std::string name = to_string(unit);
  take_end(text, {name, "B/param", "tokens/s", "B"});
  return plain_number(text);
}

Read read(const RuleSymbol& symbol, std::string_view text) {
  const Dimension unit = symbol.unit;
  if (symbol.kind == SymbolKind::width) return value_width(text);
  if (symbol.kind == SymbolKind::share || symbol.kind == SymbolKind::fraction) return number_of(parse_fraction(text));
  if (unit == dim::flop) return flop_amount(text);
  if (unit == dim::byte) return number_of(parse_bytes(text));
  if (unit == dim::flops_per_second) return number_of(parse_flop_rate(text));
  if (unit == dim::bytes_per_second) return number_of(parse_byte_rate(text));
  if (unit == dim::flop / dim::byte) return number_of(parse_intensity(text));
  if (unit == dim::watt) return number_of(parse_power(text));
  if (unit == dim::second) return number_of(parse_duration(text));
  if (unit == dim::joule) return energy(text);
  if (unit == dim::dollar) return money(text, false);
  if (unit == dollar_per_second) return money(text, true);
  if (unit == dim::token) take_end(text, {"tokens", "token"});
  if (unit == dim::parameter) take_end(text, {"parameters", "parameter", "params"});
  if (unit.is_counted()) {
    const bool whole = symbol.kind == SymbolKind::whole || symbol.kind == SymbolKind::whole_0;
    if (whole || symbol.kind == SymbolKind::wholes) return number_of(parse_large_count(text));
    return plain_number(text);
  }
  return other_unit(text, unit);
}

}  // namespace

std::string due_text(const RuleSymbol& symbol) {
  switch (symbol.kind) {
    case SymbolKind::share:
    case SymbolKind::fraction: return "a share: 0.4 or 40%";
    case SymbolKind::width: return "bytes of one value, or a type such as bf16";
    case SymbolKind::wholes: return "whole numbers with commas between them";
    default: break;
  }
  if (symbol.unit.is_none() && (symbol.kind == SymbolKind::whole || symbol.kind == SymbolKind::whole_0)) {
    return "a whole number without a unit";
  }
  return in_words(symbol.unit);
}

std::string range_problem(SymbolKind kind, const Number& value) {
  const Number zero(0);
  switch (kind) {
    case SymbolKind::whole:
    case SymbolKind::wholes: return value < Number(1) ? "has to be at least 1" : "";
    case SymbolKind::share:
    case SymbolKind::fraction:
      if (value <= zero) return "has to be above 0";
      return value > Number(1) ? "cannot be above 100 %" : "";
    case SymbolKind::positive:
    case SymbolKind::device_time:
    case SymbolKind::width: return value <= zero ? "has to be above 0" : "";
    case SymbolKind::whole_0:
    case SymbolKind::zero_up: return value < zero ? "cannot be negative" : "";
    case SymbolKind::any: break;
  }
  return "";
}

std::optional<std::vector<Number>> parse_value(const RuleSymbol& symbol, std::string_view text, Diagnostics& problems) {
  const Place place{.file = {}, .line = 0, .column = 0, .key = symbol.key};
  std::vector<Number> values;
  std::string_view rest = trimmed(text);
  if (symbol.kind == SymbolKind::wholes && rest.size() >= 2 && rest.front() == '(' && rest.back() == ')') {
    rest = rest.substr(1, rest.size() - 2);  // a shape in its parentheses
  }
  for (;;) {
    const std::size_t comma = symbol.kind == SymbolKind::wholes ? rest.find(',') : std::string_view::npos;
    const std::string_view one = trimmed(rest.substr(0, comma));
    Read value = read(symbol, one);
    if (value) {
      const std::string problem = range_problem(symbol.kind, *value);
      if (!problem.empty()) value = {std::nullopt, in_quotes(one) + " " + problem, {}};
    }
    if (!value) {
      const bool suggests = value.hint.starts_with("did you mean");
      problems.error(place, value.message,
                     (suggests ? value.hint + " " : "") + std::string(symbol.key) + " takes " + due_text(symbol));
      return std::nullopt;
    }
    values.push_back(*value);
    if (values.size() > most_values) {
      problems.error(place, "more than " + std::to_string(most_values) + " values");
      return std::nullopt;
    }
    if (comma == std::string_view::npos) return values;
    rest = rest.substr(comma + 1);
  }
}

std::string short_text(SymbolKind kind, Dimension unit, const Number& value) {
  constexpr int percent = 100;
  if (kind == SymbolKind::share) return to_text(value * Number(percent)) + " %";
  return formula::text(value, unit);
}

std::string long_text(SymbolKind kind, Dimension unit, const Number& value) {
  std::string brief = short_text(kind, unit, value);
  const double real = value.as_double();
  if (unit == dim::byte) {
    if (std::fabs(real) >= static_cast<double>(std::numeric_limits<Count>::max())) return brief;
    const Bytes bytes(static_cast<Count>(std::llround(real)));
    constexpr Count one_kilobyte = 1000;
    if (bytes.value() < one_kilobyte) return to_text(value) + " B";
    const std::string exact = value.is_integer() ? format_count(value.integer()) + " B = " : "";
    return exact + format_gib(bytes) + " = " + format_gb(bytes);
  }
  if (kind == SymbolKind::device_time)
    return brief + " = " + to_text(value / Number(seconds_per_hour)) + " device-hours";
  if (unit == dim::second) {
    constexpr double worth_scaling = 60;  // below a minute seconds read well
    const std::string scaled = format_time(Seconds(real));
    if (real >= worth_scaling) return brief + " = " + scaled;
    return real < 1 ? scaled : brief;
  }
  if (unit == dim::joule) {
    constexpr Count joules_per_kwh = 1000 * seconds_per_hour;
    return brief + " = " + to_text(value / Number(joules_per_kwh)) + " kWh";
  }
  return brief;
}

}  // namespace llmcalc::rule
