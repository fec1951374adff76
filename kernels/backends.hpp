// The backends built in: which can be used here, and opening one by name.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kernels/backend.hpp"

namespace llmcalc {

// Every backend but replay, with each of its devices, or why there is none.
std::vector<Availability> all_backends();

// cpu, cuda. Throws Error(not_available) with the reason when it cannot be used; Error(usage) for another name.
std::unique_ptr<Backend> open_backend(const std::string& name);
// cuda where it can be used, else cpu.
std::unique_ptr<Backend> open_best_backend();

}  // namespace llmcalc
