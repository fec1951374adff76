// One table as the result of a command, in whatever format was asked for.
#pragma once

#include <string>

#include "cli/command.hpp"
#include "report/table.hpp"

namespace llmcalc::cli {

// JSON: {"schema": "llmcalc.<name>/1", "<name>": [one object a row]}.
void write_table(const std::string& name, const report::Table& table, Output& output);

}  // namespace llmcalc::cli
