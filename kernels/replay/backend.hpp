// A backend that plays back recorded samples, so that everything above a backend is tested without a device.
//
// The file is text, a word and its values a line:
//   llmcalc.replay/1
//   device NAME                      memory BYTES      cache BYTES      gpu      most_flops X      most_bytes X
//   workload KEY                     as key_of writes it; * stands for every workload without one of its own
//     samples SECONDS...             of one run each; played from the start again when they are used up
//     cpu SECONDS...                 by the thread's clock, where there is one
//     footprint BYTES   moved BYTES  what the backend claims; without them: what the workload needs, cold
//     error X                        what verification finds (nan is a number here); 0 without it
//     no_memory                      preparing it fails
// # begins a comment.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/backend.hpp"

namespace llmcalc::replay {

class ReplayBackend : public Backend {
 public:
  // Throws Error(bad_input) with file and line when the text is no recording.
  ReplayBackend(std::string_view text, const std::string& source);

  std::vector<Availability> list() override;
  DeviceInfo info() override;
  std::string supports(const Workload& workload) override;
  std::unique_ptr<Task> prepare(const Workload& workload) override;
  Timing run(Task& task, Count repeats, Outputs before) override;
  Verification verify(Task& task) override;

 private:
  struct Recording {
    std::vector<double> samples, cpu;
    std::optional<Count> footprint, moved;
    double error = 0;
    bool no_memory = false;
  };
  struct ReplayTask;

  const Recording* recording_of(const Workload& workload) const;

  DeviceInfo info_;
  std::map<std::string, Recording> recordings_;
};

}  // namespace llmcalc::replay
