#include "kernels/cuda/libraries.hpp"

#include <dlfcn.h>

namespace llmcalc::cuda {
namespace {

constexpr const char* blas_files[] = {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so"};
constexpr const char* management_file = "libnvidia-ml.so.1";

template <class Function>
bool find(void* library, const char* name, Function& function) {
  void* symbol = dlsym(library, name);
  function = reinterpret_cast<Function>(symbol);
  return symbol != nullptr;
}

BlasLt open_blas() {
  BlasLt blas;
  void* library = nullptr;
  for (const char* file : blas_files) {
    library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    blas.version = file;
    if (library != nullptr) break;
  }
  if (library == nullptr) {
    blas.why_not =
        "cuBLAS is missing (looked for libcublasLt.so.13 and .12); it comes with the CUDA toolkit and with PyTorch: "
        "add its folder to LD_LIBRARY_PATH";
    return blas;
  }
  const bool all = find(library, "cublasLtCreate", blas.create) && find(library, "cublasLtDestroy", blas.destroy) &&
                   find(library, "cublasLtMatmulDescCreate", blas.desc_create) &&
                   find(library, "cublasLtMatmulDescDestroy", blas.desc_destroy) &&
                   find(library, "cublasLtMatmulDescSetAttribute", blas.desc_set) &&
                   find(library, "cublasLtMatrixLayoutCreate", blas.layout_create) &&
                   find(library, "cublasLtMatrixLayoutDestroy", blas.layout_destroy) &&
                   find(library, "cublasLtMatrixLayoutSetAttribute", blas.layout_set) &&
                   find(library, "cublasLtMatmulPreferenceCreate", blas.preference_create) &&
                   find(library, "cublasLtMatmulPreferenceDestroy", blas.preference_destroy) &&
                   find(library, "cublasLtMatmulPreferenceSetAttribute", blas.preference_set) &&
                   find(library, "cublasLtMatmulAlgoGetHeuristic", blas.heuristic) &&
                   find(library, "cublasLtMatmul", blas.matmul);
  if (!all) blas.why_not = blas.version + " lacks functions of cuBLASLt";
  std::size_t (*version)() = nullptr;
  if (find(library, "cublasLtGetVersion", version)) blas.version += " " + std::to_string(version());
  return blas;
}

// The few calls of the management library, declared here: its header is not part of every toolkit. 0 is success.
using Handle = void*;
struct Management {
  Handle device = nullptr;  // nullptr: no library, or no device
  int (*clock)(Handle, int, unsigned*) = nullptr;
  int (*temperature)(Handle, int, unsigned*) = nullptr;
  int (*power)(Handle, unsigned*) = nullptr;
  int (*throttle)(Handle, unsigned long long*) = nullptr;
  int (*generation)(Handle, unsigned*) = nullptr;
  int (*lanes)(Handle, unsigned*) = nullptr;
  int (*most_generation)(Handle, unsigned*) = nullptr;
  int (*most_lanes)(Handle, unsigned*) = nullptr;
  int (*driver)(char*, unsigned) = nullptr;
};

const Management& management() {
  static const Management opened = [] {
    Management m;
    void* library = dlopen(management_file, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return m;
    int (*init)() = nullptr;
    int (*handle)(unsigned, Handle*) = nullptr;
    const bool usable = find(library, "nvmlInit_v2", init) && find(library, "nvmlDeviceGetHandleByIndex_v2", handle);
    if (!usable || init() != 0) return m;
    find(library, "nvmlSystemGetDriverVersion", m.driver);
    if (handle(0, &m.device) != 0) m.device = nullptr;
    find(library, "nvmlDeviceGetClockInfo", m.clock);
    find(library, "nvmlDeviceGetTemperature", m.temperature);
    find(library, "nvmlDeviceGetPowerUsage", m.power);
    find(library, "nvmlDeviceGetCurrentClocksThrottleReasons", m.throttle);
    find(library, "nvmlDeviceGetCurrPcieLinkGeneration", m.generation);
    find(library, "nvmlDeviceGetCurrPcieLinkWidth", m.lanes);
    find(library, "nvmlDeviceGetMaxPcieLinkGeneration", m.most_generation);
    find(library, "nvmlDeviceGetMaxPcieLinkWidth", m.most_lanes);
    return m;
  }();
  return opened;
}

}  // namespace

const BlasLt& blas_lt() {
  static const BlasLt blas = open_blas();
  return blas;
}

DeviceState device_state() {
  constexpr int clock_of_processors = 1, clock_of_memory = 2, sensor_of_chip = 0;  // nvml.h's numbers
  DeviceState state;
  const Management& m = management();
  if (m.device == nullptr) return state;
  if (m.clock != nullptr) m.clock(m.device, clock_of_processors, &state.clock_mhz);
  if (m.clock != nullptr) m.clock(m.device, clock_of_memory, &state.memory_clock_mhz);
  if (m.temperature != nullptr) m.temperature(m.device, sensor_of_chip, &state.temperature);
  if (m.power != nullptr) m.power(m.device, &state.power_milliwatts);
  if (m.generation != nullptr) m.generation(m.device, &state.link_generation);
  if (m.lanes != nullptr) m.lanes(m.device, &state.link_lanes);
  if (m.most_generation != nullptr) m.most_generation(m.device, &state.most_generation);
  if (m.most_lanes != nullptr) m.most_lanes(m.device, &state.most_lanes);
  if (m.throttle != nullptr) m.throttle(m.device, &state.throttle_reasons);
  return state;
}

std::string driver_version() {
  char text[96] = {};
  const Management& m = management();
  return m.driver != nullptr && m.driver(text, sizeof text) == 0 ? text : "";
}

}  // namespace llmcalc::cuda
