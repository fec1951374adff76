// The registry of rules, and finding them.
#include "core/rules.hpp"

#include <algorithm>
#include <cctype>

#include "core/rules/tables.hpp"
#include "core/suggest.hpp"

namespace llmcalc {

const std::vector<Rule>& rules() {
  static const std::vector<Rule> all = [] {
    std::vector<Rule> list;
    for (auto* theme : {rule::tensor_rules, rule::model_rules, rule::memory_rules, rule::time_rules,
                        rule::collective_rules, rule::course_rules}) {
      for (Rule& one : theme()) list.push_back(std::move(one));
    }
    return list;
  }();
  return all;
}

std::vector<std::string> rule_names() {
  std::vector<std::string> names;
  for (const Rule& rule : rules()) names.emplace_back(rule.name);
  return names;
}

const Rule& rule_named(std::string_view name) {
  std::string wanted(name);
  for (char& c : wanted) c = c == '-' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const auto& all = rules();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Rule& rule) { return wanted == rule.name; });
  if (found != all.end()) return *found;
  std::string hint = did_you_mean(name, rule_names());
  if (hint.empty()) hint = "`llmcalc rule` lists them all";
  throw Error(Exit::bad_input, "there is no rule " + in_quotes(name), hint);
}

const Traced& RuleInputs::operator[](std::string_view key) const {
  for (const auto& [name, value] : values_) {
    if (name == key) return value;
  }
  throw FormulaError("the rule has no symbol " + std::string(key));
}

const List<Traced>& RuleInputs::list(std::string_view key) const {
  for (const auto& [name, value] : lists_) {
    if (name == key) return value;
  }
  throw FormulaError("the rule has no list " + std::string(key));
}

}  // namespace llmcalc
