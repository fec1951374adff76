// The options of one job, shared by every command that takes a job: estimate, roofline, check, compare, explain, mfu,
// measure.
#pragma once

#include <vector>

#include "cli/command.hpp"
#include "core/run.hpp"
#include "core/value.hpp"

namespace llmcalc::cli {

std::vector<Option> run_option_definitions();

// Gives the command the options of a job; those in `without_effect` are refused, with `why` as the hint.
void take_run_options(Command& command, const std::vector<std::string>& without_effect = {},
                      const std::string& why = {});

// What was given, from the weakest to the strongest: the `run:` part of the model's profile, --run FILE, the command
// line. Throws Error(Exit::bad_input) with all problems; warnings go to `output`.
RunOptions run_options_from(const Arguments& arguments, const Value* model, Output& output);

}  // namespace llmcalc::cli
