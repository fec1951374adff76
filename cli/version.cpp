#include "cli/version.hpp"

#include "core/version.hpp"

namespace llmcalc::cli {

std::string version_line() {
  return "llmcalc " + std::string(llmcalc::version) + " (backends: " + std::string(built_in_backends) + ")";
}

}  // namespace llmcalc::cli
