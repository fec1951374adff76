// What every fuzz target does with its input: it is text, only our own error may come out, and what must hold is
// checked in every build.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "core/diagnostics.hpp"

namespace llmcalc::fuzz {

// Not assert(): release builds replay the corpus too.
inline void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", what);
  std::abort();
}

// The only way a reader may refuse: this error, with something to say. Any other exception ends the program.
template <class Read>
void run(Read read, const std::uint8_t* data, std::size_t size) {
  try {
    read(std::string_view(reinterpret_cast<const char*>(data), size));
  } catch (const Error& error) {
    require(error.exit() == Exit::bad_input, "a reader refuses with bad_input");
    require(!error.diagnostics().empty(), "a refusal says why");
    for (const Diagnostic& d : error.diagnostics()) {
      constexpr std::size_t longest_message = 4096;
      require(!d.message.empty(), "a diagnostic has a message");
      require(d.message.size() < longest_message, "a message is no copy of the input");
    }
  }
}

}  // namespace llmcalc::fuzz

// Defines the entry point; READ is a function of a std::string_view.
#define LLMCALC_FUZZ_TARGET(READ)                                                     \
  extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);  \
  extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) { \
    llmcalc::fuzz::run(READ, data, size);                                             \
    return 0;                                                                         \
  }
