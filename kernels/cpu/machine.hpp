// The processor and memory at hand, as the operating system tells: how many processors we may use, caches, names.
#pragma once

#include <string>
#include <vector>

#include "core/units.hpp"

namespace llmcalc::cpu {

struct Machine {
  std::string name;              // "AMD EPYC 7763 64-Core Processor"
  std::vector<int> processors;   // those we may run on, at most as many as the control group's quota allows
  Bytes memory, available;       // in all, and what can be taken without swapping
  Bytes last_level_cache;        // all of them that our processors use; 0: not known
  double load = 0;               // the system's average of the last minute
  std::string frequency_driver;  // "" where the system does not say
};

Machine look_at_machine();

// A list as /sys writes it: "0-3,8" has 5 members.
std::vector<int> parse_processor_list(const std::string& text);

}  // namespace llmcalc::cpu
