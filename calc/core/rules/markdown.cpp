// docs/reference/rules.md, from the rules themselves.
#include "core/rules.hpp"
#include "core/rules/values.hpp"

namespace llmcalc {
namespace {

using Given = std::vector<std::pair<std::string, std::string>>;

Given split_example(std::string_view example) {
  Given given;
  while (!example.empty()) {
    const std::string_view one = example.substr(0, example.find(' '));
    example.remove_prefix(std::min(example.size(), one.size() + 1));
    const std::size_t equals = one.find('=');
    given.emplace_back(one.substr(0, equals), one.substr(equals + 1));
  }
  return given;
}

std::string symbol_line(const RuleSymbol& symbol) {
  std::string line = "| `" + std::string(symbol.key) + "` | " + symbol.sign + " | " + symbol.meaning + " | " +
                     rule::due_text(symbol) + " | " + symbol.default_text;
  if (*symbol.from != '\0') line += std::string(line.back() == ' ' ? "" : " ") + "from `" + symbol.from + "`";
  return line + " |\n";
}

std::string section(const Rule& rule) {
  std::string text = "## " + std::string(rule.name) + "\n\n" + rule.title + ".\n\n";
  const std::vector<std::string> formulas = rule_formulas(rule);
  for (std::size_t i = 0; i < formulas.size(); ++i) {
    text += "- `" + formulas[i] + "`: " + rule.results[i].meaning + " (`" + rule.results[i].key + "`)\n";
  }
  text += "\n| key | in the formula | meaning | due is | default |\n|---|---|---|---|---|\n";
  for (const RuleSymbol& symbol : rule.symbols) text += symbol_line(symbol);
  if (!rule.presets.empty()) {
    text += "\n| `recipe=` | meaning | values |\n|---|---|---|\n";
    for (const RulePreset& preset : rule.presets) {
      text += "| `" + std::string(preset.name) + "` | " + preset.meaning + " | `" + preset.values + "` |\n";
    }
  }
  text += "\n```\nllmcalc rule " + std::string(rule.name) + " " + rule.example + "\n";
  for (const RuleValue& value : apply_rule(rule, split_example(rule.example)).values) {
    text += "  " + value.symbolic + "\n    = " + value.substituted + "\n    = " + value.text + "\n";
  }
  text += "```\n\nScope: " + std::string(rule.scope) + "\n\nCaution: " + rule.caution + "\n\nSource: " + rule.source +
          ".\n";
  return text;
}

}  // namespace

std::vector<std::string> rule_formulas(const Rule& rule) {
  RuleInputs inputs;
  const Given example = split_example(rule.example);
  for (const RuleSymbol& symbol : rule.symbols) {
    if (symbol.kind != SymbolKind::wholes) {
      inputs.set(symbol.key, Traced::unknown(symbol.sign, symbol.unit));
      continue;
    }
    List<Traced> list{symbol.sign, {}};
    Diagnostics none;
    for (const auto& [key, value] : example) {
      if (key != symbol.key) continue;
      const auto numbers = rule::parse_value(symbol, value, none);
      for (const Number& number : *numbers) {
        const std::string sign = std::string(symbol.sign) + "_" + std::to_string(list.size() + 1);
        list.items.push_back(Traced::symbol(sign, number, symbol.unit));
      }
    }
    inputs.set(symbol.key, std::move(list));
  }
  std::vector<std::string> formulas;
  const std::vector<Traced> results = rule.compute(inputs);
  for (std::size_t i = 0; i < rule.results.size(); ++i) {
    const std::string number = results.size() > rule.results.size() && i + 1 == rule.results.size() ? "_1" : "";
    formulas.push_back(rule.results[i].sign + number + " = " + formula::symbolic(results[i]));
  }
  return formulas;
}

std::string rules_as_markdown() {
  std::string text = R"(# Rules of thumb

Written by `llmcalc rule --format markdown` from the same definitions that compute: change those, not this page.

`llmcalc rule NAME key=value...` computes a rule. Values carry units (`100TFLOP/s`, `1 TB/s`, `40%`, `10B`); the sign in the
formula does for the key (`N=1B`). Where a symbol comes "from" another rule, that rule's symbols can be given instead. Given
a result and all symbols but one, it is solved for that one, where it stands in the formula once; `key=?` names it when
several were left to their defaults.

)";
  for (const Rule& rule : rules())
    text += "- [`" + std::string(rule.name) + "`](#" + rule.name + "): " + rule.title + "\n";
  for (const Rule& rule : rules()) text += "\n" + section(rule);
  return text;
}

}  // namespace llmcalc
