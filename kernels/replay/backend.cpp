#include "kernels/replay/backend.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <sstream>

#include "core/diagnostics.hpp"
#include "kernels/sampler.hpp"

namespace llmcalc::replay {
namespace {

// Of a recording that does not say: relative, as verification of a float32 result has it.
constexpr double usual_limit = 1e-4;

// Bytes, FLOPs; far beyond any device, and small enough to be multiplied.
constexpr double largest_count = 1e15;

}  // namespace

// The words of one line, read in order; `good` turns false when one is not what it should be.
struct Words {
  explicit Words(const std::string& line) : stream(line) {}

  std::vector<double> numbers() {
    std::vector<double> values;
    std::string word;
    while (stream >> word) {
      char* end = nullptr;
      values.push_back(std::strtod(word.c_str(), &end));
      good = good && *end == '\0';
    }
    good = good && !values.empty();
    return values;
  }
  double number() {
    const std::vector<double> all = numbers();
    good = good && all.size() == 1;
    return good ? all.front() : 0.0;
  }
  Count count() {
    const double value = number();
    good = good && value >= 0 && value <= largest_count && value == std::floor(value);
    return good ? static_cast<Count>(value) : 0;
  }
  std::string rest() {
    std::string text;
    std::getline(stream >> std::ws, text);
    return text;
  }

  std::istringstream stream;
  bool good = true;
};

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
    Words words(line);
    std::string word;
    if (!(words.stream >> word)) continue;
    if (number == 1)
      words.good = word == "llmcalc.replay/1";
    else if (word == "workload")
      recording = &recordings_[words.rest()];
    else if (recording == nullptr)
      read_device(word, words);
    else
      read_recording(word, words, *recording);
    if (!words.good)
      throw Error(Exit::bad_input, {{Severity::error,
                                     {source, number, 1, ""},
                                     "not a line of a recording",
                                     "docs/measuring.md shows the format"}});
  }
  if (recordings_.empty())
    throw Error(Exit::bad_input, source + ": a recording without workloads", "docs/measuring.md shows the format");
}

void ReplayBackend::read_device(const std::string& word, Words& words) {
  if (word == "device")
    info_.name = words.rest();
  else if (word == "memory")
    info_.memory = Bytes(words.count());
  else if (word == "cache")
    info_.last_level_cache = Bytes(words.count());
  else if (word == "units")
    info_.units = words.count();
  else if (word == "gpu")
    info_.is_gpu = true;
  else if (word == "capability")
    info_.compute_capability = words.number();
  else if (word == "most_flops")
    info_.most_flops = FlopsPerSecond(words.number());
  else if (word == "most_bytes")
    info_.most_bytes = BytesPerSecond(words.number());
  else
    words.good = false;
}

void ReplayBackend::read_recording(const std::string& word, Words& words, Recording& recording) {
  if (word == "samples")
    recording.samples = words.numbers();
  else if (word == "cpu")
    recording.cpu = words.numbers();
  else if (word == "disturbed")
    recording.disturbed = words.numbers();
  else if (word == "footprint")
    recording.footprint = words.count();
  else if (word == "moved")
    recording.moved = words.count();
  else if (word == "flops")
    recording.flops = words.count();
  else if (word == "code")
    recording.code = words.rest();
  else if (word == "error")
    recording.error = words.number();
  else if (word == "limit")
    recording.limit = words.number();
  else if (word == "problem")
    recording.problem = words.rest();
  else if (word == "no_memory")
    recording.no_memory = true;
  else
    words.good = false;
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
  if (!task->recording->code.empty()) task->workload.variant = task->recording->code;
  if (task->recording->flops) task->workload.flops = Flops(*task->recording->flops);
  const Bytes needed(workload.bytes().value() / workload.portion);
  task->moved = Bytes(task->recording->moved.value_or(needed.value()));
  task->footprint = Bytes(task->recording->footprint.value_or(cold_caches * info_.last_level_cache.value()));
  return task;
}

Timing ReplayBackend::run(Task& given, Count repeats, Outputs) {
  auto& task = static_cast<ReplayTask&>(given);
  const std::size_t at = task.next++;
  const auto pick = [&](const std::vector<double>& values) { return values.empty() ? 0 : values[at % values.size()]; };
  const Recording& played = *task.recording;
  const double runs = static_cast<double>(repeats);
  return {pick(played.samples) * runs, pick(played.cpu) * runs, pick(played.disturbed) != 0};
}

Verification ReplayBackend::verify(Task& given) {
  const Recording& recording = *static_cast<const ReplayTask&>(given).recording;
  Verification result;
  result.error = recording.error;
  result.limit = recording.limit.value_or(usual_limit);
  result.problem = recording.problem;
  result.passed = result.problem.empty() && result.error <= result.limit;
  return result;
}

}  // namespace llmcalc::replay
