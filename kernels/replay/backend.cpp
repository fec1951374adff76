#include "kernels/replay/backend.hpp"

#include <cmath>
#include <cstdlib>
#include <sstream>

#include "core/diagnostics.hpp"
#include "core/quantity.hpp"

namespace llmcalc::replay {
namespace {

// Relative, as verification of a float32 result has it.
constexpr double limit = 1e-4;

// Bytes; far beyond any device, and small enough to be multiplied.
constexpr double largest_count = 1e15;

std::vector<double> numbers(std::istringstream& words, bool& good) {
  std::vector<double> values;
  std::string word;
  while (words >> word) {
    char* end = nullptr;
    values.push_back(std::strtod(word.c_str(), &end));
    good = good && *end == '\0';
  }
  good = good && !values.empty();
  return values;
}

std::string rest_of(std::istringstream& words) {
  std::string rest;
  std::getline(words >> std::ws, rest);
  return rest;
}

}  // namespace

struct ReplayBackend::ReplayTask : Task {
  using Task::Task;
  const Recording* recording = nullptr;
  std::size_t next = 0;
};

ReplayBackend::ReplayBackend(std::string_view text, const std::string& source) {
  info_.name = "replayed device";
  info_.backend = "replay";
  info_.units = 1;
  info_.method["recording"] = source;
  std::istringstream lines{std::string(text)};
  std::string line;
  Recording* recording = nullptr;
  for (int number = 1; std::getline(lines, line); ++number) {
    line.resize(std::min(line.find('#'), line.size()));
    std::istringstream words(line);
    std::string word;
    if (!(words >> word)) continue;
    bool good = number > 1 || word == "llmcalc.replay/1";
    const auto one = [&] {
      const auto all = numbers(words, good);
      return good && all.size() == 1 ? all.front() : 0.0;
    };
    const auto count = [&] {
      const double value = one();
      good = good && value >= 0 && value <= largest_count && value == std::floor(value);
      return good ? static_cast<Count>(value) : 0;
    };
    if (number == 1) { /* the schema */
    } else if (word == "device")
      info_.name = rest_of(words);
    else if (word == "memory")
      info_.memory = Bytes(count());
    else if (word == "cache")
      info_.last_level_cache = Bytes(count());
    else if (word == "gpu")
      info_.is_gpu = true;
    else if (word == "most_flops")
      info_.most_flops = FlopsPerSecond(one());
    else if (word == "most_bytes")
      info_.most_bytes = BytesPerSecond(one());
    else if (word == "workload")
      recording = &recordings_[rest_of(words)];
    else if (recording == nullptr)
      good = false;
    else if (word == "samples")
      recording->samples = numbers(words, good);
    else if (word == "cpu")
      recording->cpu = numbers(words, good);
    else if (word == "footprint")
      recording->footprint = count();
    else if (word == "moved")
      recording->moved = count();
    else if (word == "error")
      recording->error = one();
    else if (word == "no_memory")
      recording->no_memory = true;
    else
      good = false;
    if (!good)
      throw Error(Exit::bad_input, {{Severity::error,
                                     {source, number, 1, ""},
                                     "not a line of a recording",
                                     "docs/measuring.md shows the format"}});
  }
  if (recordings_.empty())
    throw Error(Exit::bad_input, source + ": a recording without workloads", "docs/measuring.md shows the format");
}

std::vector<Availability> ReplayBackend::list() { return {{"replay", info_.name, ""}}; }
DeviceInfo ReplayBackend::info() { return info_; }

const ReplayBackend::Recording* ReplayBackend::recording_of(const Workload& workload) const {
  auto found = recordings_.find(key_of(workload));
  if (found == recordings_.end()) found = recordings_.find("*");
  return found == recordings_.end() ? nullptr : &found->second;
}

std::string ReplayBackend::supports(const Workload& workload) {
  const Recording* recording = recording_of(workload);
  if (recording == nullptr) return "not in the recording";
  return recording->samples.empty() && !recording->no_memory ? "no samples in the recording" : "";
}

std::unique_ptr<Task> ReplayBackend::prepare(const Workload& workload) {
  auto task = std::make_unique<ReplayTask>(workload);
  task->recording = recording_of(workload);
  if (task->recording->no_memory) throw Error(Exit::not_available, "not enough memory");
  const Bytes needed(workload.bytes().value() / workload.portion);
  task->moved = Bytes(task->recording->moved.value_or(needed.value()));
  constexpr Count caches_left = 4;
  task->footprint = Bytes(task->recording->footprint.value_or(caches_left * info_.last_level_cache.value()));
  return task;
}

Timing ReplayBackend::run(Task& given, Count repeats, Outputs) {
  auto& task = static_cast<ReplayTask&>(given);
  const std::size_t at = task.next++;
  const auto pick = [&](const std::vector<double>& values) {
    return values.empty() ? 0 : values[at % values.size()] * static_cast<double>(repeats);
  };
  return {pick(task.recording->samples), pick(task.recording->cpu), false};
}

Verification ReplayBackend::verify(Task& given) {
  const auto& task = static_cast<const ReplayTask&>(given);
  Verification result;
  result.error = task.recording->error;
  result.limit = limit;
  result.passed = result.error <= limit;
  return result;
}

}  // namespace llmcalc::replay
