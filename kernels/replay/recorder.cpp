#include "kernels/replay/recorder.hpp"

#include <cstdio>
#include <new>

#include "core/diagnostics.hpp"

namespace llmcalc::replay {
namespace {

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.12g", value);
  return text;
}

std::string line(const char* word, const std::string& value) { return std::string(word) + " " + value + "\n"; }

}  // namespace

struct Recorder::RecordedTask : Task {
  explicit RecordedTask(std::unique_ptr<Task> prepared) : Task(prepared->workload), inner(std::move(prepared)) {
    moved = inner->moved;
    footprint = inner->footprint;
  }

  std::unique_ptr<Task> inner;
  std::size_t entry = 0;
};

DeviceInfo Recorder::info() {
  const DeviceInfo info = recorded_.info();
  head_ = "llmcalc.replay/1\n" + line("device", info.name) + line("memory", to_string(info.memory)) +
          line("cache", to_string(info.last_level_cache)) + line("units", std::to_string(info.units));
  if (info.is_gpu) head_ += "gpu\n";
  if (info.compute_capability) head_ += line("capability", number(*info.compute_capability));
  if (info.most_flops) head_ += line("most_flops", number(info.most_flops->value()));
  if (info.most_bytes) head_ += line("most_bytes", number(info.most_bytes->value()));
  for (const auto& [name, value] : info.method) head_ += "# " + name + ": " + value + "\n";
  return info;
}

std::unique_ptr<Task> Recorder::prepare(const Workload& workload) {
  entries_.push_back({key_of(workload), "", {}, {}, {}});
  try {
    auto task = std::make_unique<RecordedTask>(recorded_.prepare(workload));
    task->entry = entries_.size() - 1;
    std::string& lines = entries_.back().lines;
    if (task->workload.variant != workload.variant) lines += line("  code", task->workload.variant);
    if (!(task->workload.flops == workload.flops)) lines += line("  flops", to_string(task->workload.flops));
    lines += line("  footprint", to_string(task->footprint)) + line("  moved", to_string(task->moved));
    return task;
  } catch (const Error& error) {
    if (error.exit() == Exit::not_available) entries_.back().lines = "  no_memory\n";
    throw;
  } catch (const std::bad_alloc&) {
    entries_.back().lines = "  no_memory\n";
    throw;
  }
}

Timing Recorder::run(Task& given, Count repeats, Outputs before) {
  auto& task = static_cast<RecordedTask&>(given);
  const Timing timing = recorded_.run(*task.inner, repeats, before);
  Entry& entry = entries_[task.entry];
  const double runs = static_cast<double>(repeats);
  entry.samples.push_back(timing.seconds / runs);
  entry.cpu.push_back(timing.cpu_seconds / runs);
  entry.disturbed.push_back(timing.disturbed);
  return timing;
}

Verification Recorder::verify(Task& given) {
  auto& task = static_cast<RecordedTask&>(given);
  const Verification found = recorded_.verify(*task.inner);
  std::string& lines = entries_[task.entry].lines;
  lines += line("  error", number(found.error)) + line("  limit", number(found.limit));
  if (!found.problem.empty()) lines += line("  problem", found.problem);
  return found;
}

std::string Recorder::text() const {
  std::string text = head_;
  for (const Entry& entry : entries_) {
    text += line("workload", entry.key) + entry.lines;
    if (entry.samples.empty()) continue;
    std::string samples, cpu, disturbed;
    for (std::size_t i = 0; i < entry.samples.size(); ++i) {
      samples += (i == 0 ? "" : " ") + number(entry.samples[i]);
      cpu += (i == 0 ? "" : " ") + number(entry.cpu[i]);
      disturbed += std::string(i == 0 ? "" : " ") + (entry.disturbed[i] ? "1" : "0");
    }
    text += line("  samples", samples) + line("  cpu", cpu);
    if (disturbed.find('1') != std::string::npos) text += line("  disturbed", disturbed);
  }
  return text;
}

}  // namespace llmcalc::replay
