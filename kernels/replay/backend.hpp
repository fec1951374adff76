// A backend that plays back recorded samples, so that everything above a backend is tested without a device.
//
// The file is text, a word and its values a line:
//   llmcalc.replay/1
//   device NAME                      memory BYTES  cache BYTES  units N  gpu  capability X  most_flops X  most_bytes X
//   workload KEY                     as key_of writes it; * stands for every workload without one of its own
//     samples SECONDS...             of one run each; played from the start again when they are used up
//     cpu SECONDS...                 by the thread's clock, where there is one
//     disturbed 0 1...               whether another program had the processor, or the device throttled
//     footprint BYTES   moved BYTES  what the backend claims; without them: what the workload needs, cold
//     code NAME   flops N            what preparing chose, or found out
//     error X   limit X              what verification finds (nan is a number here) and allows; 0 without it
//     problem WORDS                  why verification failed
//     no_memory                      preparing it fails
// # begins a comment. recorder.hpp writes such files.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/backend.hpp"

namespace llmcalc::replay {

struct Words;

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
    std::vector<double> samples, cpu, disturbed;
    std::optional<Count> footprint, moved, flops;
    std::string code, problem;
    double error = 0;
    std::optional<double> limit;
    bool no_memory = false;
  };
  struct ReplayTask;

  void read_device(const std::string& word, Words& words);
  static void read_recording(const std::string& word, Words& words, Recording& recording);
  const Recording* recording_of(const Workload& workload) const;

  DeviceInfo info_;
  std::map<std::string, Recording> recordings_;
};

}  // namespace llmcalc::replay
