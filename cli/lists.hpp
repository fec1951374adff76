// What `llmcalc list` knows: one table each. A new list: a function and a row in lists.cpp.
#pragma once

#include <vector>

#include "report/table.hpp"

namespace llmcalc::cli {

struct List {
  const char* name;
  report::Table (*make)(bool for_data);  // for CSV and JSON, which also get what is too wide for a page
};

const std::vector<List>& lists();

report::Table rules_table(bool for_data);  // also what `llmcalc rule` shows without a name

}  // namespace llmcalc::cli
