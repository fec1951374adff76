// One function for each command, defined in cli/command_NAME.cpp. A new command: its file, a line here, a line in
// commands.cpp.
#pragma once

#include "cli/command.hpp"

namespace llmcalc::cli {

Command estimate_command();
Command params_command();
Command roofline_command();
Command explain_command();
Command compare_command();
Command mfu_command();
Command tensor_command();
Command matmul_command();
Command einsum_command();
Command rearrange_command();
Command reduce_command();
Command repeat_command();
Command dtype_command();
Command measure_command();
Command check_command();
Command list_command();
Command validate_command();
Command rule_command();
Command help_command();
Command completions_command();
Command man_command();

}  // namespace llmcalc::cli
