#include "kernels/cpu/backend.hpp"

#include <time.h>

#include <algorithm>
#include <limits>

#include "core/diagnostics.hpp"
#include "core/quantity.hpp"
#include "kernels/cpu/openblas.hpp"
#include "kernels/cpu/task.hpp"
#include "kernels/sampler.hpp"

namespace llmcalc::cpu {
namespace {

constexpr double disturbed_ratio = 1.05;  // wall clock over processor time

// Thread `index` of `count` gets this many of `elements`, in whole lines; the last ones get what is left.
Count share_of(Count elements, std::size_t index, std::size_t count) {
  const Count each = rounded(ceil_div(elements, static_cast<Count>(count)));
  const Count before = std::min(elements, each * static_cast<Count>(index));
  return std::min(each, elements - before);
}

double monotonic_seconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

bool past_the_cache(const Workload& w) { return w.variant == "non-temporal"; }

}  // namespace

CpuBackend::CpuBackend(std::vector<ExtraKernel> extra, std::size_t table, Bytes cache)
    : machine_(look_at_machine()),
      kernels_(kernel_tables().at(table)),
      extra_(std::move(extra)),
      pool_(std::make_unique<Pool>(machine_.processors)) {
  if (cache > Bytes(0)) machine_.last_level_cache = cache;
}

std::vector<Availability> CpuBackend::list() { return {{"cpu", machine_.name, ""}}; }

DeviceInfo CpuBackend::info() {
  constexpr Count links = 1 << 20, loops = 1 << 16;
  constexpr int tries = 5;
  const double threads = static_cast<double>(pool_->size());
  std::vector<double> chain(pool_->size()), flops(pool_->size()), seconds(pool_->size());
  std::vector<float> sink(pool_->size() * line);
  for (int i = 0; i < tries; ++i) {
    pool_->run([&](std::size_t t) { chain[t] = dependent_chain(links); });
    clock_ = std::max(clock_, static_cast<double>(links) / *std::min_element(chain.begin(), chain.end()));
    // The slowest thread's own time: another program on the machine does not lengthen it.
    const PoolTiming timing = pool_->run([&](std::size_t t) { flops[t] = kernels_.peak(loops, &sink[t * line]); });
    peak_ = std::max(peak_, flops[0] * threads / timing.cpu_seconds);
  }
  DeviceInfo info;
  info.name = machine_.name;
  info.backend = "cpu";
  info.units = static_cast<Count>(pool_->size());
  info.memory = machine_.memory;
  info.last_level_cache = machine_.last_level_cache;
  info.clock = Hertz(clock_);
  info.most_flops = FlopsPerSecond(std::max(peak_, threads * clock_ * static_cast<double>(kernels_.flops_per_cycle)));
  // Two loads and a store of 64 bytes a cycle: no core moves more, wherever the data is.
  constexpr double bytes_per_cycle = 3 * 64;
  info.most_bytes = BytesPerSecond(threads * clock_ * bytes_per_cycle);
  info.method["threads"] = std::to_string(pool_->size()) + ", pinned " + std::to_string(pool_->pinned()) + ", of " +
                           std::to_string(machine_.processors.size()) + " processors allowed";
  constexpr double crowded = 1.5;  // programs per processor that want to run
  info.busy = machine_.load > crowded * threads;
  info.method["load average before"] = format_significant(machine_.load, 3);
  info.method["vector unit"] = kernels_.name;
  info.method["clock"] = format_frequency(Hertz(clock_)) + ", from a chain of dependent additions";
  info.method["flops per cycle and thread"] = format_significant(peak_ / threads / clock_, 3);
  info.method["blas"] = openblas().why_not.empty() ? openblas().version : openblas().why_not;
  info.method["clocks"] = "CLOCK_MONOTONIC; cpu_median: the slowest thread's CLOCK_THREAD_CPUTIME_ID";
  if (!machine_.frequency_driver.empty()) info.method["frequency driver"] = machine_.frequency_driver;
  return info;
}

MatmulKernel CpuBackend::own_matmul(const std::string& variant) const {
  for (const ExtraKernel& extra : extra_) {
    if (extra.variant == variant) return extra.matmul;
  }
  if (variant == "plain") return matmul_plain;
  if (variant == "blocked") return matmul_blocked;
  if (variant == "vectorised" || variant.empty()) return kernels_.matmul;
  return nullptr;
}

StreamKernel CpuBackend::stream_kernel(const Workload& w) const {
  const bool past = past_the_cache(w);
  switch (w.kernel) {
    case Kernel::write: return past ? kernels_.write_past : kernels_.write;
    case Kernel::copy: return past ? kernels_.copy_past : kernels_.copy;
    case Kernel::memory_copy: return library_copy;
    case Kernel::intensity: return past ? kernels_.chain_past : kernels_.chain;
    case Kernel::scale: return past ? kernels_.scale_past : kernels_.scale;
    case Kernel::add: return past ? kernels_.add_past : kernels_.add;
    case Kernel::triad: return past ? kernels_.triad_past : kernels_.triad;
    case Kernel::adamw: return kernels_.adamw;
    case Kernel::softmax: return kernels_.softmax;
    case Kernel::rms_norm: return kernels_.rms_norm;
    case Kernel::gated_activation: return kernels_.gated_activation;
    default: return nullptr;
  }
}

std::string CpuBackend::supports(const Workload& w) {
  if (is_transfer(w.kernel)) return "the processor's memory is the device's own: there is nothing to transfer";
  if (w.kernel == Kernel::launch)
    return w.variant.empty() ? "" : "a processor has no queue: what is measured is the start of all threads";
  if (w.kernel == Kernel::peak) return "";
  const bool whole_bytes = w.kernel == Kernel::stream && !w.transcendental;
  if (w.dtype != DType::float32 && !whole_bytes) return "the CPU backend computes in fp32, not in " + dtype_key(w);
  if (w.kernel == Kernel::matmul) {
    if (w.m <= 0 || w.n <= 0 || w.k <= 0) return "an empty product";
    if (std::max({w.m, w.n, w.k}) > std::numeric_limits<int>::max()) return "an axis is longer than a BLAS can count";
    if (w.variant == "openblas") return openblas().why_not;
    return own_matmul(w.variant) != nullptr ? "" : "no matmul is called " + w.variant;
  }
  if (is_attention(w.kernel)) {
    if (w.attention.length == 0)
      return "fused attention whose mask is of packed documents or chunks has no kernel here";
    return attention_kernel(w) != nullptr ? "" : "no attention is called " + w.variant;
  }
  if (w.kernel == Kernel::read) return "";
  if (w.kernel == Kernel::stream) {
    return w.bytes().value() / w.portion >= word ? "" : "moves nothing";
  }
  if (stream_kernel(w) == nullptr) return "the " + kernels_.name + " unit has no stores past the cache";
  return "";
}

// What all arrays together may take: the rest of the system keeps as much.
Count CpuBackend::memory_limit() const { return machine_.available.value() / 2; }

std::unique_ptr<Task> CpuBackend::prepare(const Workload& workload) {
  auto task = std::make_unique<CpuTask>(workload, *this);
  const Workload& w = task->workload;
  const std::size_t threads = pool_->size();
  task->sums.resize(threads * CpuTask::sum_stride);
  task->parts.resize(threads);
  if (w.kernel == Kernel::launch) return task;
  if (w.kernel == Kernel::peak) {
    task->rounds = std::max<Count>(w.elements, 1);
    float sink = 0;
    const double per_round = kernels_.peak(1, &sink);
    task->workload.flops = Flops(static_cast<Int128>(per_round)) * task->rounds * static_cast<Count>(threads);
    return task;
  }
  if (is_attention(w.kernel)) {
    lay_out_attention(*task);
  } else if (w.kernel == Kernel::matmul) {
    if (w.variant.empty()) task->workload.variant = best_matmul();
    task->matmul = w.variant == "openblas" ? nullptr : own_matmul(w.variant);
    task->b_offset = rounded(w.batch * w.m * w.k) + array_padding;
    task->out_offset = task->b_offset + rounded(w.batch * w.k * w.n) + array_padding;
    task->stride = task->out_offset + rounded(w.batch * w.m * w.n) + array_padding;
    task->moved = Bytes(word * w.batch * (w.m * w.k + w.k * w.n + w.m * w.n));
    // Threads over a grid of C: the one whose parts read least.
    Count least = std::numeric_limits<Count>::max();
    for (Count rows = 1; rows <= static_cast<Count>(threads); ++rows) {
      const Count columns = static_cast<Count>(threads) / rows;
      if (rows * columns != static_cast<Count>(threads)) continue;
      const Count reads = ceil_div(w.m, rows) + ceil_div(w.n, columns);
      if (reads >= least) continue;
      least = reads;
      task->grid_rows = rows;
      task->grid_columns = columns;
    }
  } else if (w.kernel == Kernel::stream) {
    const Count read = w.read.value() / w.portion / word, written = w.written.value() / w.portion / word;
    const Count inputs = written > 0 ? read / written : 0;
    Count most_read = 0, most_written = 0;
    for (std::size_t t = 0; t < threads; ++t) {
      CpuTask::Part& part = task->parts[t];
      part.written = share_of(written, t, threads);
      part.read = inputs * part.written + share_of(read - inputs * written, t, threads);
      if (inputs == 0 && written > 0) part.read = std::min(part.read, part.written);
      most_read = std::max(most_read, part.read);
      most_written = std::max(most_written, part.written);
      task->moved += Bytes(word * (part.read + part.written));
    }
    task->out_offset = most_read > 0 ? rounded(most_read) + array_padding : 0;
    task->stride = task->out_offset + rounded(most_written) + array_padding;
  } else {
    const bool in_place = w.kernel == Kernel::adamw;
    // The faster of the two where there is one.
    if (w.kernel == Kernel::intensity && w.variant.empty())
      task->workload.variant = kernels_.chain_past != nullptr ? "non-temporal" : "plain";
    task->stream = w.kernel == Kernel::read ? nullptr : stream_kernel(w);
    task->in_arrays =
        w.kernel == Kernel::write
            ? 0
            : (w.kernel == Kernel::add || w.kernel == Kernel::triad || w.kernel == Kernel::gated_activation ? 2 : 1);
    task->out_arrays = w.kernel == Kernel::read ? 0 : (in_place ? 3 : 1);
    const Count unit = w.columns > 0 ? w.columns : 1;  // rows stay whole
    Count most = 0;
    for (std::size_t t = 0; t < threads; ++t) {
      task->parts[t].elements = share_of(w.elements / unit, t, threads) * unit;
      most = std::max(most, task->parts[t].elements);
      const Count arrays = task->in_arrays + task->out_arrays * (in_place ? 2 : 1);  // in place: read and written
      task->moved += Bytes(word * arrays * task->parts[t].elements);
    }
    task->array_stride = rounded(most) + array_padding;
    task->out_offset = task->in_arrays * task->array_stride;
    task->stride = task->out_offset + task->out_arrays * task->array_stride;
  }

  place(*task);
  return task;
}

// The faster one of the library and our own, on one square in turn.
std::string CpuBackend::best_matmul() {
  if (!openblas().why_not.empty()) return "vectorised";
  if (!best_matmul_.empty()) return best_matmul_;
  constexpr Count size = 384;
  constexpr int tries = 3;
  Workload square = matmul_workload(DType::float32, size, size, size);
  square.cold = false;
  double least[2] = {std::numeric_limits<double>::max(), std::numeric_limits<double>::max()};
  const std::string names[] = {"openblas", "vectorised"};
  for (int i = 0; i < 2 * tries; ++i) {
    square.variant = names[i % 2];
    const std::unique_ptr<Task> task = prepare(square);
    least[i % 2] = std::min(least[i % 2], run(*task, 2, Outputs::as_they_are).seconds);
  }
  return best_matmul_ = names[least[1] < least[0]];
}

// As many windows as it takes to leave the caches, and the memory allows. All arrays of a window lie behind one
// another, so everything else in the arena is touched before anything is touched again.
void CpuBackend::place(CpuTask& task) {
  const Workload& w = task.workload;
  const bool shared = task.shared();  // one window for all threads, or one in each thread's slice
  const Count slices = shared ? 1 : static_cast<Count>(pool_->size());
  const Count window = task.stride * slices * word;
  if (window > memory_limit())
    throw Error(Exit::not_available, "not enough memory: arrays of " + format_gib(Bytes(window)) + ", and " +
                                         format_gib(Bytes(memory_limit())) + " may be used");
  const Count cold = cold_caches * machine_.last_level_cache.value() + window;  // the last window may not fit
  arena_.reserve(*pool_, std::max(window, std::min(w.cold ? cold : 0, memory_limit())));
  if (w.cold) task.windows = (shared ? arena_.elements() : arena_.slice_elements()) / task.stride;
  task.footprint = Bytes(task.windows * window);
}

void CpuBackend::run_stream(CpuTask& task, std::size_t thread, Count round) const {
  const Workload& w = task.workload;
  const CpuTask::Part& part = task.parts[thread];
  const float* in = arena_.slice(thread) + task.window(round);
  float* out = arena_.slice(thread) + task.window(round) + task.out_offset;
  double& sum = task.sums[thread * CpuTask::sum_stride];
  if (w.kernel == Kernel::stream) {
    sum = kernels_.mixed({in, out, part.read, part.written, w.transcendental});
  } else if (w.kernel == Kernel::read) {
    sum = kernels_.read(in, part.elements);
  } else {
    Streams streams;
    for (Count i = 0; i < task.in_arrays; ++i) streams.in[static_cast<std::size_t>(i)] = in + i * task.array_stride;
    for (Count i = 0; i < task.out_arrays; ++i) streams.out[static_cast<std::size_t>(i)] = out + i * task.array_stride;
    streams.elements = part.elements;
    streams.columns = w.columns;
    streams.rounds = w.rounds;
    task.stream(streams);
  }
}

void CpuBackend::run_matmul(const CpuTask& task, std::size_t thread, Count round) const {
  const Workload& w = task.workload;
  const float* a = arena_.data() + task.window(round);
  const float* b = a + task.b_offset;
  float* c = arena_.data() + task.window(round) + task.out_offset;
  const bool by_batch = w.batch >= static_cast<Count>(pool_->size());
  const Count index = static_cast<Count>(thread), threads = static_cast<Count>(pool_->size());
  const Count rows = by_batch ? 1 : task.grid_rows, columns = by_batch ? 1 : task.grid_columns;
  const Count row = by_batch ? 0 : index / columns, column = by_batch ? 0 : index % columns;
  const Count m0 = w.m * row / rows, m1 = w.m * (row + 1) / rows;
  const Count n_step = columns == 1 ? w.n : rounded(ceil_div(w.n, columns));
  const Count n0 = std::min(w.n, column * n_step), n1 = std::min(w.n, n0 + n_step);
  if (m0 == m1 || n0 == n1) return;
  for (Count i = by_batch ? index : 0; i < w.batch; i += by_batch ? threads : 1) {
    const Matrix ai = whole_matrix(a + i * w.m * w.k, w.m, w.k, w.a_turned).from(m0, 0);
    const Matrix bi = whole_matrix(b + i * w.k * w.n, w.k, w.n, w.b_turned).from(0, n0);
    float* ci = c + (i * w.m + m0) * w.n + n0;
    if (task.matmul != nullptr) {
      task.matmul(m1 - m0, n1 - n0, w.k, ai, bi, ci, w.n);
    } else {
      openblas().matmul(m1 - m0, n1 - n0, w.k, ai, bi, ci, w.n);
    }
  }
}

Timing CpuBackend::run(Task& given, Count repeats, Outputs before) {
  auto& task = static_cast<CpuTask&>(given);
  const Kernel kernel = task.workload.kernel;
  if (before == Outputs::poisoned) poison(task);
  if (kernel == Kernel::launch) {
    const double start = monotonic_seconds();
    for (Count i = 0; i < repeats; ++i) pool_->run([](std::size_t) {});
    return {monotonic_seconds() - start, 0, false};
  }
  const Count first = task.next;
  const PoolTiming timing = pool_->run([&](std::size_t thread) {
    for (Count i = 0; i < repeats; ++i) {
      if (kernel == Kernel::peak) {
        float sink = 0;
        kernels_.peak(task.rounds, &sink);
        task.sums[thread * CpuTask::sum_stride] = static_cast<double>(sink);
      } else if (kernel == Kernel::matmul) {
        run_matmul(task, thread, first + i);
      } else if (is_attention(kernel)) {
        run_attention(task, thread, first + i);
      } else {
        run_stream(task, thread, first + i);
      }
    }
  });
  task.next += repeats;
  const bool disturbed = timing.switched_away > 0 || timing.seconds > disturbed_ratio * timing.cpu_seconds;
  return {timing.seconds, timing.cpu_seconds, disturbed};
}

}  // namespace llmcalc::cpu
