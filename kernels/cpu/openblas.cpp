#include "kernels/cpu/openblas.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>

namespace llmcalc::cpu {
namespace {

// CBLAS's own numbers for its enumerations.
constexpr int row_major = 101, not_transposed = 111, transposed = 112;

constexpr const char* file_names[] = {"libopenblas.so.0", "libopenblas.so", "libopenblasp.so.0", "libopenblaso.so.0",
                                      "libopenblas64_.so.0"};

template <class Function>
bool find(void* library, const char* name, Function& function) {
  void* symbol = dlsym(library, name);
  function = reinterpret_cast<Function>(symbol);
  return symbol != nullptr;
}

void* open_first(std::string& file) {
  for (const char* name : file_names) {
    if (void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) {
      file = name;
      return library;
    }
  }
  return nullptr;
}

// A library older than the processor falls back to kernels of 2004, a tenth as fast. It is then told the newest ones it
// knows that the processor can run; a choice made in the environment stands.
const char* better_core(const std::string& chosen) {
#if defined(__x86_64__)
  if (chosen != "Prescott" || getenv("OPENBLAS_CORETYPE") != nullptr) return nullptr;
  if (__builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq")) return "SkylakeX";
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return "Haswell";
#else
  (void)chosen;
#endif
  return nullptr;
}

OpenBlas open_library() {
  OpenBlas blas;
  // Read when the library is loaded.
  setenv("OPENBLAS_NUM_THREADS", "1", 1);
  std::string file, told;
  void* library = open_first(file);
  if (library == nullptr) {
    blas.why_not = "no OpenBLAS here (looked for libopenblas.so.0); the package is libopenblas0";
    return blas;
  }
  void (*set_threads)(int) = nullptr;
  char* (*config)() = nullptr;
  char* (*core)() = nullptr;
  if (find(library, "openblas_get_corename", core)) {
    if (const char* better = better_core(core())) {
      dlclose(library);
      setenv("OPENBLAS_CORETYPE", better, 1);
      library = open_first(file);
      told = ", told to by llmcalc";
    }
  }
  if (library == nullptr || !find(library, "cblas_sgemm", blas.sgemm)) {
    blas.why_not = file + " has no cblas_sgemm";
    return blas;
  }
  if (find(library, "openblas_set_num_threads", set_threads)) set_threads(1);
  blas.version = file;
  if (find(library, "openblas_get_config", config)) {
    std::istringstream words(config());
    std::string name, version;
    words >> name >> version;
    blas.version += " " + name + " " + version;
  }
  if (find(library, "openblas_get_corename", core)) blas.version += std::string(", kernels for ") + core() + told;
  return blas;
}

}  // namespace

void OpenBlas::matmul(Count m, Count n, Count k, Matrix a, Matrix b, float* c, Count ldc) const {
  const auto whole = [](Count size) { return static_cast<int>(size); };
  const auto order = [](const Matrix& x) { return x.column == 1 ? not_transposed : transposed; };
  // Rows of a single-column matrix may be closer together than CBLAS accepts.
  const auto distance = [&](const Matrix& x, Count rows, Count columns) {
    return whole(x.column == 1 ? std::max(x.row, columns) : std::max(x.column, rows));
  };
  sgemm(row_major, order(a), order(b), whole(m), whole(n), whole(k), 1.0F, a.data, distance(a, m, k), b.data,
        distance(b, k, n), 0.0F, c, whole(ldc));
}

const OpenBlas& openblas() {
  static const OpenBlas blas = open_library();
  return blas;
}

}  // namespace llmcalc::cpu
