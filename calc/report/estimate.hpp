// The writers of an estimate: one screen of text (or Markdown), and the JSON of docs/reference/schema/estimate.json.
#pragma once

#include "core/report.hpp"
#include "report/json.hpp"
#include "report/page.hpp"

namespace llmcalc::report {

Json estimate_json(const Report& report);

Page estimate_page(const Report& report, std::size_t width = kReportWidth);

// What --explain adds below the page: every number with its formula, the values put in and its source.
void explain_estimate(const Report& report, Page& page);

}  // namespace llmcalc::report
