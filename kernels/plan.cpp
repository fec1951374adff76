#include "kernels/plan.hpp"

#include <algorithm>
#include <utility>

namespace llmcalc {
namespace {

constexpr double cpu_target = 0.03, gpu_target = 0.005;
// All of a quick run ends a little before what the documentation promises.
constexpr double cpu_quick = 8.5, gpu_quick = 17, usual_seconds = 90, full_seconds = 270;

// On a processor that others use as well, a hurried run takes longer rather than find out next to nothing.
constexpr double when_busy = 2;

struct Scale {
  double group;        // seconds for one group
  double step;         // for one operation of a step
  Count fewest, most;  // samples
};

Scale scale_of(Effort effort) {
  switch (effort) {
    case Effort::tiny: return {0, 0, 1, 1};
    case Effort::quick: return {0.15, 0.12, 5, 60};
    case Effort::usual: return {1.0, 1.0, 9, 200};
    case Effort::full: return {3.0, 2.0, 15, 500};
  }
  return {};
}

class Maker {
 public:
  Maker(const DeviceInfo& info, Effort effort, const std::vector<std::string>& only)
      : info_(info), effort_(effort), only_(only), scale_(scale_of(effort)) {}

  // One workload in several variants.
  void add(const Workload& workload, const std::vector<std::string>& variants = {""}) {
    if (!wanted(workload.name) && (workload.op.empty() || !wanted("step"))) return;
    Group group;
    for (const std::string& variant : variants) {
      group.variants.push_back(workload);
      group.variants.back().variant = variant;
      if (tiny()) group.variants.back().cold = false;
    }
    group.limits.target = info_.is_gpu ? gpu_target : cpu_target;
    group.limits.fewest = scale_.fewest;
    group.limits.most = scale_.most;
    if (tiny()) group.limits.shortest_sample = 0;
    group.limits.seconds = (workload.op.empty() ? scale_.group : scale_.step) * static_cast<double>(variants.size());
    group.latest = latest;
    plan.groups.push_back(std::move(group));
  }

  // Whatever the time: without it nothing can be predicted.
  void add_always(const Workload& workload, const std::vector<std::string>& variants) {
    const double before = std::exchange(latest, 1);
    add(workload, variants);
    latest = before;
  }

  void add_cached(Workload workload) {
    workload.cold = false;
    add(workload);
  }

  bool wanted(const std::string& name) const {
    return only_.empty() || std::find(only_.begin(), only_.end(), name) != only_.end();
  }
  bool tiny() const { return effort_ == Effort::tiny; }
  bool quick() const { return effort_ == Effort::quick; }
  bool full() const { return effort_ == Effort::full; }

  Plan plan;
  double latest = 1;  // of the groups added next

 private:
  const DeviceInfo& info_;
  Effort effort_;
  const std::vector<std::string>& only_;
  Scale scale_;
};

Workload diagnostic(Kernel kernel, Count elements) {
  Workload w;
  w.name = name_of(kernel);
  w.kernel = kernel;
  w.elements = elements;
  w.cold = false;
  return w;
}

// Arrays of 32 MiB on a processor (8 MiB when in a hurry), 256 MiB on a GPU; windows of them are used in turn until the
// caches are left.
Count memory_elements(const Maker& maker, bool gpu) {
  if (maker.tiny()) return Count{1} << 13;
  return gpu ? Count{1} << 26 : Count{1} << (maker.quick() ? 21 : 23);
}

std::vector<std::string> ways_to_store(bool gpu) {
  return gpu ? std::vector<std::string>{"plain"} : std::vector<std::string>{"plain", "non-temporal"};
}

void add_main_memory(Maker& maker, bool gpu) {
  for (Kernel kernel : {Kernel::copy, Kernel::triad})
    maker.add_always(memory_workload(kernel, DType::float32, memory_elements(maker, gpu)), ways_to_store(gpu));
}

void add_more_memory(Maker& maker, bool gpu) {
  const Count elements = memory_elements(maker, gpu);
  constexpr Count columns = 4096;
  const auto one = [&](Kernel kernel, Count row = 0) { return memory_workload(kernel, DType::float32, elements, row); };
  maker.add(one(Kernel::read));
  for (Kernel kernel : {Kernel::write, Kernel::scale, Kernel::add}) maker.add(one(kernel), ways_to_store(gpu));
  for (Kernel kernel : {Kernel::adamw, Kernel::gated_activation}) maker.add(one(kernel));
  for (Kernel kernel : {Kernel::softmax, Kernel::rms_norm}) maker.add(one(kernel, columns));
  // From what fits a core's own cache upwards.
  for (Count size = Count{1} << 14; size < elements; size *= 16)
    maker.add_cached(memory_workload(Kernel::copy, DType::float32, size));
}

// The library's own copy, and over the link: 1 KiB to 1 GiB, for latency and rate.
void add_transfers(Maker& maker, bool gpu) {
  constexpr Count smallest = 1 << 10, hurried = 1 << 25, tiny = 1 << 14, float_bytes = 4;
  const Count largest = maker.tiny() ? tiny : Count{1} << 30, factor = maker.full() ? 4 : maker.quick() ? 32 : 8;
  for (Count bytes = smallest; bytes <= (maker.quick() && !gpu ? hurried : largest); bytes *= factor)
    maker.add(memory_workload(Kernel::memory_copy, DType::float32, bytes / float_bytes));
  if (!gpu) return;
  for (Kernel direction : {Kernel::host_to_device, Kernel::device_to_host, Kernel::both_directions}) {
    for (Count bytes = smallest; bytes <= largest; bytes *= factor)
      maker.add(transfer_workload(direction, bytes, ""), {"pinned", "pageable"});
  }
}

// From one multiply-add an element, bound by memory, to so many that arithmetic is all there is: the measured roof.
void add_intensities(Maker& maker, bool gpu) {
  const Count most = maker.tiny() ? 4 : gpu ? 1024 : 256, factor = maker.quick() ? 4 : 2;
  for (Count rounds = 1; rounds <= most; rounds *= factor)
    maker.add(intensity_workload(memory_elements(maker, gpu), rounds));
}

// Squares, and shapes off the square: these calibrate an estimate; a model's own shapes test it.
void add_matmuls(Maker& maker, bool gpu) {
  struct Shape {
    Count m, n, k;
  };
  std::vector<Count> squares =
      gpu ? std::vector<Count>{512, 1024, 2048, 4096, 8192} : std::vector<Count>{512, 1024, 256, 128};
  if (maker.full()) squares.push_back(gpu ? 16384 : 2048);
  if (maker.tiny()) squares = {16, 33};
  std::vector<Shape> sweep =
      gpu ? std::vector<Shape>{{128, 4096, 4096},
                               {4096, 4096, 128},
                               {4096, 128, 4096},
                               {2040, 2040, 2040},
                               {4095, 4097, 4093}}
          : std::vector<Shape>{
                {32, 1024, 1024}, {1024, 1024, 32}, {200, 2000, 700}, {2000, 700, 200}, {199, 701, 1999}};
  if (maker.tiny()) sweep = {{1, 33, 17}, {33, 1, 5}};
  const std::vector<DType> dtypes =
      gpu ? std::vector<DType>{DType::bfloat16, DType::float16, DType::float32, DType::float8_e4m3fn}
          : std::vector<DType>{DType::float32};
  const std::vector<std::string> library =
      gpu ? std::vector<std::string>{"cublaslt", "cublaslt-best"} : std::vector<std::string>{"openblas", "vectorised"};
  for (DType dtype : dtypes) {
    // In fp8, the library takes operands whose rows and columns both lie along k, and no others.
    const bool fp8 = dtype == DType::float8_e4m3fn;
    const std::string layout = fp8 ? "NT" : "NN";
    for (Count size : squares) {
      const Workload square = matmul_workload(dtype, size, size, size, 1, layout);
      if (size == squares.front() && dtype == dtypes.front())
        maker.add_always(square, library);
      else
        maker.add(square, library);
    }
    for (const Shape& s : sweep) maker.add(matmul_workload(dtype, s.m, s.n, s.k, 1, layout), library);
    // As a step's products find their operands: forward through a stored (out, in) weight, and the weight's gradient.
    const Count side = maker.tiny() ? 32 : gpu ? 4096 : 512;
    if (!fp8) {
      for (const char* turned : {"NT", "TN"}) maker.add(matmul_workload(dtype, side, side, side, 1, turned), library);
    }
    if (gpu && dtype == DType::float32) {
      for (Count size : squares) {
        Workload w = matmul_workload(dtype, size, size, size);
        w.tf32 = true;
        maker.add(w, library);
      }
    }
  }
}

// These calibrate as squares do for products; short sequences, more of whose blocks are masked in part, are slower. On
// a processor only: there the kernels are ours.
void add_attention(Maker& maker) {
  const auto causal = [](Count heads, Count kv_heads, Count length, Count size) {
    return AttentionShape{1, heads, kv_heads, length, size, size, length, 0};
  };
  std::vector<AttentionShape> shapes{causal(24, 24, 160, 64), causal(6, 6, 640, 64)};
  if (!maker.quick()) shapes.push_back(causal(6, 2, 1536, 128));
  if (maker.tiny()) shapes = {causal(2, 1, 70, 12)};
  for (const AttentionShape& shape : shapes) {
    for (Kernel kernel : {Kernel::attention, Kernel::attention_backward}) {
      const Workload pass = attention_workload(kernel, DType::float32, shape);
      // Without one of each, a step's attention cannot be predicted.
      if (&shape == &shapes.front())
        maker.add_always(pass, {""});
      else
        maker.add(pass);
    }
  }
}

// Our own, from the simplest on: what implementing it well is worth. Cached: what is compared is the arithmetic.
void add_ladder(Maker& maker, bool gpu) {
  constexpr Count tile = 128;  // what the tensor kernel takes at least
  const auto square = [&](DType dtype, Count usual) {
    const Count size = maker.tiny() ? tile : usual;
    Workload w = matmul_workload(dtype, size, size, size);
    w.cold = false;
    return w;
  };
  if (!gpu) {
    maker.add(square(DType::float32, 256), {"plain", "blocked", "vectorised", "openblas"});
    return;
  }
  maker.add(square(DType::float32, 2048), {"plain", "shared", "registers", "cublaslt"});
  maker.add(square(DType::bfloat16, 4096), {"tensor", "cublaslt"});
}

}  // namespace

std::vector<std::string> plannable_names() {
  std::vector<std::string> names;
  for (int i = 0; i <= static_cast<int>(Kernel::both_directions); ++i) {
    if (static_cast<Kernel>(i) != Kernel::stream) names.emplace_back(name_of(static_cast<Kernel>(i)));
  }
  names.emplace_back("step");  // the operations of --model
  return names;
}

Plan make_plan(const DeviceInfo& info, Effort effort, const std::vector<std::string>& only,
               std::vector<Workload> step) {
  Maker maker(info, effort, only);
  const bool gpu = info.is_gpu;
  const Count peak_rounds = effort == Effort::tiny ? 100 : 100'000;
  // What predicts comes first, but a hurried run leaves the larger part of its time to what it is tested on.
  constexpr double calibration_share = 0.35;
  if (maker.quick() && !step.empty()) maker.latest = calibration_share;
  if (!gpu) maker.add(diagnostic(Kernel::peak, peak_rounds));
  maker.add(diagnostic(Kernel::launch, 0),
            gpu ? std::vector<std::string>{"queued", "graph", "waited for"} : std::vector<std::string>{""});
  add_main_memory(maker, gpu);
  if (!gpu) add_attention(maker);
  add_matmuls(maker, gpu);
  maker.latest = 1;
  // How much of the step a sample stands for, for the time it takes: what runs often or is run in part first, and small
  // operations, whose preparation takes longer than they do, last. Rough rates do for an order.
  const auto worth = [](const Workload& w) {
    constexpr double bytes_per_second = 10e9, flops_per_second = 100e9, preparation = 5e-3;
    const double data = w.bytes().as_double() / static_cast<double>(w.portion) / bytes_per_second;
    const double arithmetic =
        w.kernel == Kernel::matmul || is_attention(w.kernel) ? w.flops.as_double() / flops_per_second : 0;
    const double one = std::max(data, arithmetic);
    return static_cast<double>(w.times * w.portion) * one / (one + preparation);
  };
  std::stable_sort(step.begin(), step.end(), [&](const Workload& a, const Workload& b) { return worth(a) > worth(b); });
  for (const Workload& operation : step) {
    maker.add(operation);
  }
  add_more_memory(maker, gpu);
  add_intensities(maker, gpu);
  add_ladder(maker, gpu);
  add_transfers(maker, gpu);
  switch (effort) {
    case Effort::tiny: maker.plan.seconds = full_seconds; break;
    case Effort::quick: maker.plan.seconds = (gpu ? gpu_quick : cpu_quick) * (info.busy ? when_busy : 1); break;
    case Effort::usual: maker.plan.seconds = usual_seconds; break;
    case Effort::full: maker.plan.seconds = full_seconds; break;
  }
  return std::move(maker.plan);
}

}  // namespace llmcalc
