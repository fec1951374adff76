// llmcalc run as it should succeed or be refused, for tests of what it prints.
#pragma once

#include <sstream>
#include <string>
#include <vector>

#include "tests/catch.hpp"
#include "tests/support/program.hpp"

namespace llmcalc::test {

using Words = std::vector<std::string>;

// What it prints; the exit code must be 0.
inline std::string printed(const Words& arguments) {
  const Ran ran = run_program(arguments);
  INFO(ran.err);
  CHECK(ran.exit == 0);
  return ran.out;
}

// What it says against these arguments: this exit code, a message, and nothing on stdout.
inline std::string refused(const Words& arguments, int exit) {
  const Ran ran = run_program(arguments);
  INFO(ran.err);
  CHECK(ran.exit == exit);
  CHECK(ran.out.empty());
  CHECK_THAT(ran.err, Catch::Matchers::ContainsSubstring("error: "));
  return ran.err;
}

// The same, and `words` are in it.
inline void refuses(const Words& arguments, int exit, const std::string& words) {
  CHECK_THAT(refused(arguments, exit), Catch::Matchers::ContainsSubstring(words));
}

// A text with its line breaks and indentation as single spaces, for what may be wrapped.
inline std::string flat(const std::string& text) {
  std::istringstream words(text);
  std::string out;
  for (std::string word; words >> word;) out += (out.empty() ? "" : " ") + word;
  return out;
}

}  // namespace llmcalc::test
