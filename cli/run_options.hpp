// The options of one job, shared by every command that takes a job: estimate, roofline, check, compare, explain, mfu,
// measure.
#pragma once

#include <vector>

#include "cli/command.hpp"
#include "core/run.hpp"
#include "core/value.hpp"

namespace llmcalc::cli {

// What says nothing of a single step on one device, nor of its tensors.
std::vector<std::string> not_of_one_step();

// Gives the command the options of a job; those in `without_effect` are refused, with `why` as the hint.
void take_run_options(Command& command, const std::vector<std::string>& without_effect = {},
                      const std::string& why = {});

// For a command whose model may be left out: throws Error(usage) for an option of a job. `with_model` begins the hint.
void refuse_run_options(const Arguments& arguments, const std::string& with_model);

// What was given, from the weakest to the strongest: the `run:` part of the model's profile, --run FILE, the command
// line. Throws Error(Exit::bad_input) with all problems; warnings go to `output`.
RunOptions run_options_from(const Arguments& arguments, const Value* model, Output& output);

}  // namespace llmcalc::cli
