// The writers of `mfu`: text or Markdown, and the JSON of docs/reference/schema/mfu.json.
#pragma once

#include "core/utilization.hpp"
#include "report/json.hpp"
#include "report/page.hpp"

namespace llmcalc::report {

Json utilization_json(const UtilizationReport& report);
Page utilization_page(const UtilizationReport& report);
void explain_utilization(const UtilizationReport& report, Page& page);  // what --explain adds

Json plan_json(const PlanReport& plan);
Page plan_page(const PlanReport& plan);
void explain_plan(const PlanReport& plan, Page& page);

}  // namespace llmcalc::report
