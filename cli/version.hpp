// What `llmcalc --version` says.
#pragma once

#include <string>

namespace llmcalc::cli {

std::string version_line();  // "llmcalc 0.1.0 (backends: cpu, replay)"

}  // namespace llmcalc::cli
