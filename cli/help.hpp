// Help texts, made from the definitions of the commands.
#pragma once

#include <string>

#include "cli/command.hpp"

namespace llmcalc::cli {

std::string overview(bool colour);                              // bare `llmcalc`, `llmcalc --help`
std::string command_help(const Command& command, bool colour);  // `llmcalc NAME --help`
std::string usage_line(const Command& command);                 // "llmcalc estimate MODEL [DEVICE] [options]"
std::string option_label(const Option& option);                 // "--batch B", "-h, --help"

}  // namespace llmcalc::cli
