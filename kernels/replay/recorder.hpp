// Keeps the raw samples of another backend, as a recording that `--backend replay:FILE` plays again.
#pragma once

#include <string>
#include <vector>

#include "kernels/backend.hpp"

namespace llmcalc::replay {

class Recorder : public Backend {
 public:
  // `recorded` must outlive this and every task.
  explicit Recorder(Backend& recorded) : recorded_(recorded) {}

  std::vector<Availability> list() override { return recorded_.list(); }
  DeviceInfo info() override;
  std::string supports(const Workload& workload) override { return recorded_.supports(workload); }
  std::unique_ptr<Task> prepare(const Workload& workload) override;
  Timing run(Task& task, Count repeats, Outputs before) override;
  Verification verify(Task& task) override;

  // Everything so far, in the form that backend.hpp describes.
  std::string text() const;

 private:
  // One workload: its lines, and what is still coming in.
  struct Entry {
    std::string key, lines;
    std::vector<double> samples, cpu;
    std::vector<bool> disturbed;
  };
  struct RecordedTask;

  Backend& recorded_;
  std::string head_;
  std::vector<Entry> entries_;
};

}  // namespace llmcalc::replay
