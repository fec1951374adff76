// Applying a rule of thumb in a test, with the values written as on the command line.
#pragma once

#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "core/rules.hpp"

namespace llmcalc::test {

using Given = std::vector<std::pair<std::string, std::string>>;

inline Given given(const std::string& words) {
  Given pairs;
  std::istringstream stream(words);
  for (std::string word; stream >> word;)
    pairs.emplace_back(word.substr(0, word.find('=')), word.substr(word.find('=') + 1));
  return pairs;
}

inline RuleAnswer applied(const std::string& name, const std::string& words) {
  return apply_rule(rule_named(name), given(words));
}

inline const RuleValue& value(const RuleAnswer& answer, const std::string& key) {
  for (const RuleValue& one : answer.values) {
    if (one.key == key) return one;
  }
  throw std::logic_error("no value " + key);
}

}  // namespace llmcalc::test
