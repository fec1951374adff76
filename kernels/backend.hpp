// What a backend does for the harness. Six functions; everything about sampling, statistics and verdicts is above them.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/units.hpp"
#include "kernels/workload.hpp"

namespace llmcalc {

// A backend that is built in, and one device of it or the reason why there is none.
struct Availability {
  std::string backend;
  std::string device;   // empty when there is none
  std::string why_not;  // empty: usable
};

struct DeviceInfo {
  std::string name;
  std::string backend;
  bool is_gpu = false;
  std::optional<double> compute_capability;
  bool busy = false;           // other programs want the processors too: everything takes longer
  Count units = 0;             // processors or SMs that take part
  Bytes memory;                // all of it
  Bytes last_level_cache;      // 0: not known
  std::optional<Hertz> clock;  // measured, under load
  // Faster than this is impossible; nothing where no bound is known. `bytes` is that of memory, for cold data.
  std::optional<FlopsPerSecond> most_flops;
  std::optional<BytesPerSecond> most_bytes;
  std::map<std::string, std::string> method;  // versions, clocks, settings: goes into the profile
};

// Buffers of one workload on a device. Backends derive their own.
struct Task {
  explicit Task(Workload what) : workload(std::move(what)) {}
  virtual ~Task() = default;
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;

  Workload workload;
  Bytes moved;      // what one run reads and writes, by the backend's own arrays
  Bytes footprint;  // distinct bytes touched before any is touched again
};

// One sample: `repeats` runs back to back.
struct Timing {
  double seconds = 0;
  double cpu_seconds = 0;  // of the slowest thread by its own clock; 0 where there is no such clock
  bool disturbed = false;  // another program had the processor, or the device throttled, meanwhile
};

// What is done to the buffers a run will write, before its clock starts. `poisoned`: every element becomes NaN
// (in-place operations get their first values back), so that what a kernel leaves out is seen.
enum class Outputs : unsigned char { as_they_are, poisoned };

struct Verification {
  bool passed = false;
  double error = 0;  // largest found, relative as `limit` is
  double limit = 0;
  std::string problem;  // in words; empty when it passed
};

class Backend {
 public:
  virtual ~Backend() = default;

  virtual std::vector<Availability> list() = 0;
  virtual DeviceInfo info() = 0;
  // Why this workload cannot be run; empty when it can.
  virtual std::string supports(const Workload& workload) = 0;
  // Inputs are filled. Throws Error(not_available) when memory does not suffice.
  virtual std::unique_ptr<Task> prepare(const Workload& workload) = 0;
  virtual Timing run(Task& task, Count repeats, Outputs before = Outputs::as_they_are) = 0;
  // Of what the last run left in its buffers: nothing is launched again.
  virtual Verification verify(Task& task) = 0;
};

}  // namespace llmcalc
