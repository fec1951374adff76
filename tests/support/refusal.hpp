// What the program says when it refuses something.
#pragma once

#include <concepts>
#include <string>

#include "core/diagnostics.hpp"
#include "tests/catch.hpp"

namespace llmcalc::test {

// The whole text of the Error that `run` throws, and a check of its exit code; "accepted" when it throws none.
template <std::invocable Run>
std::string refusal(Run run, Exit exit = Exit::bad_input) {
  try {
    run();
  } catch (const Error& error) {
    CHECK(error.exit() == exit);
    return error.what();
  }
  return "accepted";
}

}  // namespace llmcalc::test
