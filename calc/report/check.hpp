// An estimate against a measurement, for people and for programs.
#pragma once

#include <string>

#include "core/check.hpp"
#include "report/json.hpp"
#include "report/table.hpp"

namespace llmcalc::report {

Json check_json(const CheckReport& report);
Table check_table(const CheckReport& report);
std::string check_text(const CheckReport& report, bool markdown, Style style);

}  // namespace llmcalc::report
