// A rule of thumb on a page: its formula, the same with the values put in, the result, and where it is from.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/rules.hpp"
#include "report/page.hpp"

namespace llmcalc::report {

// Values by the rule's keys, in base units (bytes, FLOP, seconds).
using RuleNumbers = std::vector<std::pair<std::string_view, Number>>;

// "what: C = 6 · N · D", below it "= 6 · 10⁹ parameters · … = 6·10¹⁹ FLOP", and the source.
void add_formula(Page& page, const std::string& what, std::string_view rule, const RuleNumbers& values);

}  // namespace llmcalc::report
