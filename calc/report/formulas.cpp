#include "report/formulas.hpp"

namespace llmcalc::report {

void add_formula(Page& page, const std::string& what, std::string_view rule, const RuleNumbers& values) {
  const Explanation explanation = explain_rule(rule, values);
  page.line(what + ": " + explanation.symbolic);
  page.line("  = " + explanation.substituted + " = " + explanation.result);
  page.line("  source: " + explanation.source, Tone::faint);
}

}  // namespace llmcalc::report
