// Runs the llmcalc that was built, as a shell would, and keeps all three of its answers.
#pragma once

#include <string>
#include <vector>

namespace llmcalc::test {

struct Ran {
  int exit = -1;  // -1: it did not end by itself
  std::string out, err;
};

// `arguments` come after the program's name. NO_COLOR is not set, the working folder is the tests'.
Ran run_program(const std::vector<std::string>& arguments);

// The same with stdout connected to `path` (/dev/full), or closed when `path` is empty.
Ran run_program_into(const std::string& path, const std::vector<std::string>& arguments);

// The same with stdout a pipe nobody reads from any more.
Ran run_program_into_closed_pipe(const std::vector<std::string>& arguments);

}  // namespace llmcalc::test
