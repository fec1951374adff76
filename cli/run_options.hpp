// The options of one job, shared by every command that takes a job: estimate, roofline, check, compare, explain, mfu,
// measure.
#pragma once

#include <vector>

#include "cli/command.hpp"
#include "core/run.hpp"
#include "core/value.hpp"

namespace llmcalc::cli {

std::vector<Option> run_option_definitions();

// What was given, from the weakest to the strongest: the `run:` part of the model's profile, --run FILE, the command
// line. Throws Error(Exit::bad_input) with all problems; warnings go to `output`.
RunOptions run_options_from(const Arguments& arguments, const Value* model, Output& output);

}  // namespace llmcalc::cli
