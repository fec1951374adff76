// Any text as a recording of a device, played back.
#include "kernels/replay/backend.hpp"

#include "tests/fuzz/target.hpp"

namespace {

void take(std::string_view input) {
  using namespace llmcalc;
  replay::ReplayBackend backend(input, "input");
  const DeviceInfo info = backend.info();
  fuzz::require(info.memory >= Bytes(0) && info.last_level_cache >= Bytes(0), "no negative sizes");
  const Workload workload = memory_workload(Kernel::copy, DType::float32, 64);
  if (!backend.supports(workload).empty()) return;
  try {
    const std::unique_ptr<Task> task = backend.prepare(workload);
    fuzz::require(task->moved >= Bytes(0) && task->footprint >= Bytes(0), "no negative sizes");
    backend.run(*task, 3, Outputs::as_they_are);
    backend.verify(*task);
  } catch (const Error& error) {
    fuzz::require(error.exit() == Exit::not_available, "only memory can be missing now");
  }
}

}  // namespace

LLMCALC_FUZZ_TARGET(take)
