#include "kernels/cpu/machine.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

namespace llmcalc::cpu {
namespace {

constexpr const char* cpu_folder = "/sys/devices/system/cpu/cpu";

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// The value behind `key` in a file of "key : value" lines.
std::string value_in(const char* path, const std::string& key) {
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    if (!line.starts_with(key)) continue;
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const std::size_t start = line.find_first_not_of(" \t", colon + 1);
    return start == std::string::npos ? "" : line.substr(start);
  }
  return "";
}

Bytes memory_line(const char* key) {
  constexpr Count kibi = 1024;  // /proc/meminfo says kB and means KiB
  return Bytes(std::strtoll(value_in("/proc/meminfo", key).c_str(), nullptr, 10) * kibi);
}

std::vector<int> allowed_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> allowed;
  if (sched_getaffinity(0, sizeof set, &set) == 0) {
    for (int i = 0; i < CPU_SETSIZE; ++i) {
      if (CPU_ISSET(i, &set)) allowed.push_back(i);
    }
  }
  if (allowed.empty()) allowed.push_back(0);
  return allowed;
}

// Processors' worth of time the control group grants; 0: no limit.
std::size_t quota() {
  std::istringstream line(first_line("/sys/fs/cgroup/cpu.max"));
  std::string limit;
  double period = 0;
  if (!(line >> limit >> period) || limit == "max" || !(period > 0)) return 0;
  return static_cast<std::size_t>(std::max(1.0, std::floor(std::strtod(limit.c_str(), nullptr) / period)));
}

// Every last-level cache our processors share, once.
Bytes last_level_cache(const std::vector<int>& processors) {
  std::set<std::string> seen;
  Count sum = 0;
  for (int processor : processors) {
    Count size = 0, level = 0;
    std::string shared;
    for (int index = 0; index < 8; ++index) {
      const std::string folder = cpu_folder + std::to_string(processor) + "/cache/index" + std::to_string(index) + "/";
      const Count this_level = std::strtoll(first_line(folder + "level").c_str(), nullptr, 10);
      if (this_level <= level || first_line(folder + "type") == "Instruction") continue;
      const std::string text = first_line(folder + "size");  // "32768K"
      level = this_level;
      size = std::strtoll(text.c_str(), nullptr, 10) * (text.find('M') != std::string::npos ? 1024 * 1024 : 1024);
      shared = std::to_string(level) + ":" + first_line(folder + "shared_cpu_list");
    }
    if (size > 0 && seen.insert(shared).second) sum += size;
  }
  return Bytes(sum);
}

std::string processor_name() {
  std::string name = value_in("/proc/cpuinfo", "model name");
  if (name.empty()) name = value_in("/proc/cpuinfo", "Model");
  if (name.empty()) name = first_line("/sys/firmware/devicetree/base/model").c_str();  // ends in a zero byte
  return name.empty() ? "CPU" : name;
}

}  // namespace

std::vector<int> parse_processor_list(const std::string& text) {
  std::vector<int> list;
  std::istringstream parts(text);
  std::string part;
  while (std::getline(parts, part, ',')) {
    char* end = nullptr;
    const long first = std::strtol(part.c_str(), &end, 10);
    const long last = *end == '-' ? std::strtol(end + 1, nullptr, 10) : first;
    for (long i = first; i <= last; ++i) list.push_back(static_cast<int>(i));
  }
  return list;
}

Machine look_at_machine() {
  Machine machine;
  machine.name = processor_name();
  machine.processors = allowed_processors();
  const std::size_t granted = quota();
  if (granted > 0 && granted < machine.processors.size()) machine.processors.resize(granted);
  machine.memory = memory_line("MemTotal");
  machine.available = memory_line("MemAvailable");
  machine.last_level_cache = last_level_cache(machine.processors);
  if (getloadavg(&machine.load, 1) != 1) machine.load = 0;
  machine.frequency_driver = first_line(std::string(cpu_folder) + "0/cpufreq/scaling_driver");
  return machine;
}

}  // namespace llmcalc::cpu
