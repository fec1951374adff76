// The rule of thumb beside the exact count, and in words why they differ.
#pragma once

#include "core/report.hpp"
#include "report/table.hpp"

namespace llmcalc::report {

// Columns: what, rule of thumb, exact, why they differ. Rows only for what the estimate has.
Table rule_and_exact(const Report& report);

// The MFU that a rule of thumb for the time takes: what plans usually assume, between the 28 and 51 % that whole runs
// were published with (core/utilization.cpp).
constexpr double kUsualMfu = 0.4;

// "16" or "8.003": bytes for each parameter.
std::string format_each(double bytes);

// How attention is counted: the convention's name; "every pair" where none is causal; nothing where there is none.
std::string attention_counted(const Report& report);

}  // namespace llmcalc::report
