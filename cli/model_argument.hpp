// The MODEL of a command line, read together with what depends on it.
#pragma once

#include <optional>

#include "cli/command.hpp"
#include "core/device.hpp"
#include "core/model_source.hpp"
#include "core/run.hpp"

namespace llmcalc::cli {

// What a command about a job was given.
struct JobArguments {
  ModelSource model;
  std::optional<Device> device;  // when DEVICE was given
  RunOptions options;
};

// Reads the positionals MODEL and DEVICE and the run options. Warnings go to `output`. Throws Error(Exit::bad_input)
// with the problems of everything that was given.
JobArguments job_from(const Arguments& arguments, Output& output);

// The model alone, for commands without run options.
ModelSource model_from(const Arguments& arguments, Output& output);

Positional model_positional();
Positional device_positional(bool required);

}  // namespace llmcalc::cli
