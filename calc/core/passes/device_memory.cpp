#include "core/passes/device_memory.hpp"

#include <vector>

#include "core/caching_allocator.hpp"
#include "core/quantity.hpp"

namespace llmcalc {
namespace {

constexpr Count mebibyte = Count{1} << 20;
// PyTorch hands cuBLAS one workspace a handle and stream (aten/src/ATen/cuda/CublasHandlePool.cpp): 4096 KiB twice and
// 16 KiB eight times, and 32 MiB from compute capability 9.0 on.
constexpr Count cublas_workspace = (2 * 4096 + 8 * 16) * 1024, cublas_workspace_hopper = 32 * mebibyte;

// A context's size follows the device (local memory of every thread that can be resident) and the kernels that were
// loaded. One PyTorch process and one small tensor: about 300 MiB since kernels are loaded lazily (CUDA 11.7;
// pytorch/pytorch #107667), 320 MiB without PyTorch's kernels and 1008 MiB with all of them on a Titan V (#28394).
// Devices of 9.0 and later have more multiprocessors; their figure is scaled, not read.
struct ContextSize {
  double capability;            // from this compute capability on
  Count expected, least, most;  // MiB
};
constexpr ContextSize context_sizes[] = {{9.0, 500, 400, 1100}, {8.0, 400, 300, 1000}, {0.0, 320, 250, 1010}};

class Replay {
 public:
  explicit Replay(bool expandable) : allocator_(AllocatorSettings{expandable}) {}

  void hold(Bytes bytes, Count copies) {
    for (Count i = 0; i < copies; ++i) allocator_.allocate(never_freed, bytes);
  }
  void run(const AllocationLog& log, std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < to; ++i) {
      const AllocationEvent& event = log.events()[i];
      if (event.bytes > Bytes(0))
        allocator_.allocate(event.block, event.bytes);
      else
        allocator_.free(event.block);
    }
  }
  void free_all(const AllocationLog& log) {
    for (std::int32_t block = 0; block < log.blocks(); ++block) allocator_.free(block);
  }
  Bytes reserved() const { return allocator_.reserved(); }

 private:
  static constexpr std::int32_t never_freed = -1;
  CachingAllocator allocator_;
};

}  // namespace

std::optional<Bytes> simulate_reserved(const Model& model, const StepPlan& plan, const AllocationLog& log,
                                       std::size_t optimizer_begins, bool expandable_segments) {
  if (!log.complete()) return std::nullopt;
  Replay replay(expandable_segments);
  const auto hold = [&](Bytes bytes, Count copies) { replay.hold(bytes, copies); };
  visit_weights(model, plan, hold);
  if (plan.accumulate > 1 || plan.precision->gradients_persist) visit_gradients(model, plan, hold);
  const std::size_t all = log.events().size();
  replay.run(log, 0, optimizer_begins);
  visit_states(model, plan, hold);
  replay.run(log, optimizer_begins, all);
  replay.free_all(log);
  replay.run(log, 0, all);
  return replay.reserved();
}

std::optional<FrameworkAllowance> framework_allowance(const Device& device) {
  if (!device.compute_capability) return std::nullopt;
  const double capability = *device.compute_capability;
  const Count workspace = capability >= 9.0 ? cublas_workspace_hopper : cublas_workspace;
  for (const ContextSize& size : context_sizes) {
    if (capability < size.capability) continue;
    const Bytes expected(size.expected * mebibyte + workspace), least(size.least * mebibyte + workspace),
        most(size.most * mebibyte + workspace);
    return FrameworkAllowance{expected, least, most,
                              "context and cuBLAS workspace; " + format_gib(least) + " to " + format_gib(most) +
                                  ", by the kernels that are loaded (pytorch/pytorch #28394, #107667)"};
  }
  return std::nullopt;
}

void add_device_memory(MemoryReport& memory, std::optional<Bytes> reserved, const Device* device) {
  memory.reserved = reserved;
  if (!device) return;
  const std::optional<FrameworkAllowance> allowance = framework_allowance(*device);
  if (!allowance) return;
  memory.framework = allowance->expected;
  memory.framework_note = allowance->note;
  if (reserved) memory.device_total = *reserved + allowance->expected;
}

}  // namespace llmcalc
