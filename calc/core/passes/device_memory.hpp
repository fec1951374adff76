// What the driver sees of a job: the allocator's pool, and what the framework takes besides.
#pragma once

#include <optional>
#include <string>

#include "core/allocation_log.hpp"
#include "core/device.hpp"
#include "core/model.hpp"
#include "core/passes/step.hpp"
#include "core/report.hpp"

namespace llmcalc {

// Bytes the caching allocator has reserved after two steps: the optimizer's states come into being at the end of the
// first, in what its backward pass has left free, and the second finds the pool as the first left it. `log` is that of
// one step whose last events, from `optimizer_begins` on, are the optimizer's. Nothing when the log is not complete.
std::optional<Bytes> simulate_reserved(const Model& model, const StepPlan& plan, const AllocationLog& log,
                                       std::size_t optimizer_begins);

struct FrameworkAllowance {
  Bytes expected, least, most;
  std::string note;  // range and source
};
// CUDA context and library workspaces of a process that runs PyTorch; nothing for a device without CUDA.
std::optional<FrameworkAllowance> framework_allowance(const Device& device);

// Fills in reserved, framework and device_total.
void add_device_memory(MemoryReport& memory, std::optional<Bytes> reserved, const Device* device);

}  // namespace llmcalc
