#include "core/passes/device_memory.hpp"

#include <vector>

#include "core/caching_allocator.hpp"
#include "core/quantity.hpp"

namespace llmcalc {
namespace {

constexpr Count mebibyte = Count{1} << 20;
// PyTorch hands cuBLAS a workspace for every handle, and the thread that runs the backward pass has a handle of its own
// (aten/src/ATen/cuda/CublasHandlePool.cpp): 4096 KiB twice and 16 KiB eight times, and 32 MiB on Hopper and Blackwell.
constexpr Count cublas_workspace = (2 * 4096 + 8 * 16) * 1024, cublas_workspace_hopper = 32 * mebibyte;

// A context before any kernel is loaded, as nvidia-smi shows it. It grows with the threads that can be resident (1 KiB
// of stack each) and with what the driver keeps for itself.
struct ContextSize {
  double capability;  // from this compute capability on
  Count mebibytes;
  const char* read_on;
};
constexpr ContextSize context_sizes[] = {{10.0, 616, "a B200, kvcache-ai/Mooncake #3434"},
                                         {9.0, 520, "an H200, kvcache-ai/Mooncake #3973"},
                                         {8.6, 256, "an RTX 3090, invoke-ai/InvokeAI #9413"},
                                         {8.0, 414, "an A800, kvcache-ai/Mooncake #3973"},
                                         {0.0, 320, "a Titan V, pytorch/pytorch #28394"}};
// Kernels are loaded into it as they are first used (since CUDA 11.7); all of PyTorch's took 1008 - 320 MiB on the
// Titan V. What a training step uses of them nobody has stated; the expectation leaves them out, the range does not.
constexpr Count all_kernels = 688;

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
                                       std::size_t optimizer_begins) {
  if (!log.complete()) return std::nullopt;
  Replay replay(plan.expandable_segments);
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
    const Bytes context(size.mebibytes * mebibyte);
    const Bytes least = context + Bytes(workspace), expected = context + Bytes(2 * workspace),
                most = expected + Bytes(all_kernels * mebibyte);
    return FrameworkAllowance{expected, least, most,
                              "context (read on " + std::string(size.read_on) + ") and cuBLAS workspaces; " +
                                  format_gib(least) + " to " + format_gib(most) + ", by the kernels that are loaded"};
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
