// A rule explained for code that has the values: the three forms, for --explain.
#include <algorithm>

#include "core/rules.hpp"
#include "core/rules/values.hpp"

namespace llmcalc {

Explanation explain_rule(std::string_view name, const std::vector<std::pair<std::string_view, Number>>& values) {
  const Rule& rule = rule_named(name);
  const auto compute = [&](const auto& self, const Rule& inner) -> std::vector<Traced> {
    RuleInputs inputs;
    for (const RuleSymbol& symbol : inner.symbols) {
      const auto found =
          std::find_if(values.begin(), values.end(), [&](const auto& v) { return v.first == symbol.key; });
      if (found != values.end()) {
        inputs.set(symbol.key, Traced::symbol(symbol.sign, found->second, symbol.unit,
                                              rule::short_text(symbol.kind, symbol.unit, found->second)));
      } else if (*symbol.default_text != '\0') {
        Diagnostics none;
        const Number value = rule::parse_value(symbol, symbol.default_text, none)->front();
        inputs.set(symbol.key, Traced::symbol(symbol.sign, value, symbol.unit));
      } else if (*symbol.from != '\0') {
        inputs.set(symbol.key, self(self, rule_named(symbol.from)).front());
      } else {
        throw FormulaError(std::string(name) + " needs a value for " + symbol.key);
      }
    }
    return inner.compute(inputs);
  };
  return rule::with_arithmetic_errors(rule.name, [&] {
    const Traced expression = compute(compute, rule).front();
    const RuleResult& result = rule.results.front();
    return Explanation{result.sign + (" = " + formula::symbolic(expression)), formula::substituted(expression),
                       rule::long_text(result.kind, result.unit, expression.value()), rule.source};
  });
}

}  // namespace llmcalc
