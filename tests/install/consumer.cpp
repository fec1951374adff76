// Uses the installed libraries as a stranger would: the version, a built-in device, a quantity of it.
#include <cstdio>
#include <string>

#include "core/version.hpp"
#include "read/load.hpp"

int main() {
  llmcalc::Diagnostics diagnostics;
  const llmcalc::Device device = llmcalc::load_device("h100-sxm", diagnostics);
  std::printf("llmcalc %s knows the %s\n", std::string(llmcalc::version).c_str(), device.name.c_str());
}
