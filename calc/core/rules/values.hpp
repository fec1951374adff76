// Values of symbols as people write them, and values as people read them.
#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "core/diagnostics.hpp"
#include "core/rules.hpp"

namespace llmcalc::rule {

// The value (several for a list) in base units; nothing, and an error that says which unit is due, when it does not
// fit.
std::optional<std::vector<Number>> parse_value(const RuleSymbol& symbol, std::string_view text, Diagnostics& problems);

// What has to be given: "a compute rate (FLOP/s, TFLOP/s)", "a share: 0.4 or 40%".
std::string due_text(const RuleSymbol& symbol);

// What is wrong with a value of this kind ("has to be above 0"); empty: nothing. Solved and computed values go through
// it too.
std::string range_problem(SymbolKind kind, const Number& value);

// As it stands in the substituted form: "100 TFLOP/s", "40 %", "8, 1,024, 4,096".
std::string short_text(SymbolKind kind, Dimension unit, const Number& value);

// A result for reading, in every unit that helps: "1,500,000 s = 17.36 days", "67,108,864 B = 64.00 MiB = 67.11 MB".
std::string long_text(SymbolKind kind, Dimension unit, const Number& value);

// What arithmetic cannot do with the values given is a problem of the values.
template <class Compute>
auto with_arithmetic_errors(const char* name, Compute compute) {
  try {
    return compute();
  } catch (const Overflow& problem) {
    throw Error(Exit::bad_input, std::string(name) + ": " + problem.what());
  } catch (const std::domain_error& problem) {
    throw Error(Exit::bad_input, std::string(name) + ": " + problem.what());
  }
}

}  // namespace llmcalc::rule
