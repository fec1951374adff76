#include "kernels/backends.hpp"

#include "core/diagnostics.hpp"
#include "core/suggest.hpp"
#include "kernels/cpu/backend.hpp"
#if LLMCALC_HAS_CUDA
#include "kernels/cuda/backend.hpp"
#endif

namespace llmcalc {
namespace {

std::vector<Availability> cuda_devices() {
#if LLMCALC_HAS_CUDA
  return cuda::available();
#else
  return {{"cuda", "", "built without CUDA: there was no nvcc, or LLMCALC_CUDA was OFF"}};
#endif
}

}  // namespace

std::vector<Availability> all_backends() {
  std::vector<Availability> all = cuda_devices();
  for (const Availability& one : cpu::CpuBackend().list()) all.push_back(one);
  return all;
}

std::unique_ptr<Backend> open_backend(const std::string& name) {
  if (name == "cpu") return std::make_unique<cpu::CpuBackend>();
  if (name == "cuda") {
    const std::vector<Availability> devices = cuda_devices();
    for (const Availability& device : devices) {
      if (!device.why_not.empty())
        throw Error(Exit::not_available, "cuda: " + device.why_not,
                    "llmcalc measure --list-backends shows what can be used here");
    }
#if LLMCALC_HAS_CUDA
    return cuda::open();
#endif
  }
  throw Error(Exit::usage, "there is no backend '" + name + "'", did_you_mean(name, {"cpu", "cuda", "replay:FILE"}));
}

std::unique_ptr<Backend> open_best_backend() {
  return open_backend(cuda_devices().front().why_not.empty() ? "cuda" : "cpu");
}

}  // namespace llmcalc
