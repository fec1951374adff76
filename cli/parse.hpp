// From the words of the command line to the command and what was given to it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/command.hpp"

namespace llmcalc::cli {

struct Invocation {
  std::optional<Command> command;  // nothing: no command was named
  Arguments arguments;
  Format format = Format::text;
  bool explain = false;
  bool help = false;
  bool version = false;
};

// `words` are the arguments after the program's name. Throws Error(Exit::usage), and Error(Exit::bad_input) for a
// name that a table does not have; all problems together.
Invocation parse(const std::vector<std::string>& words);

}  // namespace llmcalc::cli
