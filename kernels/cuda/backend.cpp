#include "kernels/cuda/backend.hpp"

#include <algorithm>
#include <chrono>
#include <limits>

#include "core/quantity.hpp"
#include "kernels/cuda/task.hpp"
#include "kernels/kernel_constants.hpp"
#include "kernels/sampler.hpp"

namespace llmcalc::cuda {
namespace {

constexpr std::size_t alignment = 256;  // bytes; what the allocator gives, and more than any access needs
constexpr double ampere = 8.0;          // the first with bfloat16 in its tensor cores
constexpr double ada = 8.9;             // the first with fp8
constexpr Count fp8_multiple = 16;      // what cuBLASLt wants of every axis of such a product

std::size_t aligned(std::size_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

// Why no device can be used; empty when one can.
std::string why_not() {
  int driver = 0, devices = 0;
  cudaDriverGetVersion(&driver);
  if (driver == 0) return "no NVIDIA driver on this machine";
  const cudaError_t status = cudaGetDeviceCount(&devices);
  cudaGetLastError();
  if (status == cudaErrorInsufficientDriver) {
    const auto version = [](int v) { return std::to_string(v / 1000) + "." + std::to_string(v % 1000 / 10); };
    return "the driver is too old: it knows CUDA " + version(driver) + ", this program needs " +
           version(CUDART_VERSION);
  }
  if (status == cudaErrorNoDevice || (status == cudaSuccess && devices == 0))
    return "no NVIDIA device here, or none is visible (CUDA_VISIBLE_DEVICES)";
  if (status != cudaSuccess) return cudaGetErrorString(status);
  return blas_lt().why_not;
}

bool is_product_variant(const std::string& variant) {
  return variant.empty() || variant == "cublaslt" || variant == "cublaslt-best";
}

Format format_of(DType dtype) {
  switch (dtype) {
    case DType::bfloat16: return Format::bf16;
    case DType::float16: return Format::fp16;
    case DType::float8_e4m3fn: return Format::fp8;
    default: return Format::fp32;
  }
}

}  // namespace

std::vector<Availability> available() {
  const std::string reason = why_not();
  if (!reason.empty()) return {{"cuda", "", reason}};
  cudaDeviceProp properties{};
  if (cudaGetDeviceProperties(&properties, 0) != cudaSuccess) return {{"cuda", "", "the device does not answer"}};
  return {{"cuda", properties.name, ""}};
}

std::unique_ptr<Backend> open() { return std::make_unique<CudaBackend>(); }

HostMemory::HostMemory(std::size_t bytes, bool pinned) : pinned_(pinned) {
  if (pinned) {
    require(cudaMallocHost(&data_, bytes), "page-locked memory");
    return;
  }
  data_ = ::operator new(bytes);
}

HostMemory::~HostMemory() {
  if (pinned_)
    cudaFreeHost(data_);
  else
    ::operator delete(data_);
}

CudaBackend::CudaBackend() {
  cudaDeviceProp properties{};
  require(cudaSetDevice(0), "cudaSetDevice");
  require(cudaGetDeviceProperties(&properties, 0), "cudaGetDeviceProperties");
  name_ = properties.name;
  processors_ = properties.multiProcessorCount;
  memory_ = Bytes(static_cast<Count>(properties.totalGlobalMem));
  cache_ = Bytes(properties.l2CacheSize);
  capability_ = properties.major + properties.minor / 10.0;
  require(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "a stream");
  require(cudaStreamCreateWithFlags(&other_stream_, cudaStreamNonBlocking), "a stream");
  require(cudaEventCreate(&begin_), "an event");
  require(cudaEventCreate(&end_), "an event");
  if (blas_lt().create(&blas_) != CUBLAS_STATUS_SUCCESS)
    throw Error(Exit::not_available, "cuda: cuBLASLt does not start");
}

CudaBackend::~CudaBackend() {
  if (blas_ != nullptr) blas_lt().destroy(blas_);
  for (cudaEvent_t event : {begin_, end_}) cudaEventDestroy(event);
  for (cudaStream_t stream : {stream_, other_stream_}) cudaStreamDestroy(stream);
}

std::vector<Availability> CudaBackend::list() { return available(); }

DeviceInfo CudaBackend::info() {
  DeviceInfo info;
  info.name = name_;
  info.backend = "cuda";
  info.is_gpu = true;
  info.compute_capability = capability_;
  info.units = processors_;
  info.memory = memory_;
  info.last_level_cache = cache_;
  // Memory clock x bus width x 2 transfers a clock; what the chip cannot exceed, whatever a datasheet rounds.
  int memory_khz = 0, bus_bits = 0;
  cudaDeviceGetAttribute(&memory_khz, cudaDevAttrMemoryClockRate, 0);
  cudaDeviceGetAttribute(&bus_bits, cudaDevAttrGlobalMemoryBusWidth, 0);
  constexpr double bits = 8, per_clock = 2, kilo = 1e3;
  if (memory_khz > 0 && bus_bits > 0) info.most_bytes = BytesPerSecond(memory_khz * kilo * per_clock * bus_bits / bits);
  const DeviceState state = device_state();
  info.method["driver"] = driver_version();
  info.method["cuda runtime"] = std::to_string(CUDART_VERSION);
  info.method["blas"] = blas_lt().version;
  info.method["clocks"] = "CUDA events around a graph; before: " + std::to_string(state.clock_mhz) + " MHz, memory " +
                          std::to_string(state.memory_clock_mhz) + " MHz, " + std::to_string(state.temperature) +
                          " C, " + std::to_string(state.power_milliwatts / 1000) + " W (read, never set)";
  if (state.link_lanes > 0)
    info.method["link"] = "PCI Express " + std::to_string(state.link_generation) + " x" +
                          std::to_string(state.link_lanes) + " before, at most " +
                          std::to_string(state.most_generation) + " x" + std::to_string(state.most_lanes);
  return info;
}

std::string CudaBackend::supports(const Workload& w) {
  if (w.kernel == Kernel::peak) return "the GPU's peak is measured by products";
  if (w.kernel == Kernel::launch || is_transfer(w.kernel)) return "";
  if (w.kernel == Kernel::matmul) {
    if (w.m <= 0 || w.n <= 0 || w.k <= 0) return "an empty product";
    if (std::max({w.m, w.n, w.k}) > std::numeric_limits<int>::max()) return "an axis is too long";
    const bool half = w.dtype == DType::bfloat16 || w.dtype == DType::float16;
    const bool fp8 = w.dtype == DType::float8_e4m3fn;
    if (w.dtype != DType::float32 && !half && !fp8) return dtype_key(w) + " products are not measured yet";
    if (fp8 && capability_ < ada) return "fp8 needs compute capability 8.9, this is " + format_fixed(capability_, 1);
    if (fp8 && (layout_of(w) != "NT" || w.m % fp8_multiple != 0 || w.n % fp8_multiple != 0 || w.k % fp8_multiple != 0))
      return "cuBLASLt multiplies fp8 only where both operands lie along k and all axes are multiples of 16";
    if (w.dtype == DType::bfloat16 && capability_ < ampere)
      return "bf16 needs compute capability 8.0, this is " + format_fixed(capability_, 1);
    if (w.tf32 && capability_ < ampere)
      return "tf32 needs compute capability 8.0, this is " + format_fixed(capability_, 1);
    if (is_product_variant(w.variant)) return "";
    if (layout_of(w) != "NN") return "our own kernels take operands that lie row by row";
    constexpr Count most_batch = 65535;  // blocks along the grid's last axis
    if (w.batch > most_batch) return "too many products in one launch";
    if (w.variant != "tensor") return w.dtype == DType::float32 && !w.tf32 ? "" : w.variant + " computes in fp32 only";
    if (!half || capability_ < ampere)
      return "the tensor kernel takes bf16 and fp16 on compute capability 8.0 or newer";
    return w.m % tensor_tile == 0 && w.n % tensor_tile == 0 && w.k % tensor_depth == 0
               ? ""
               : "the tensor kernel takes whole tiles only";
  }
  if (is_attention(w.kernel))
    return "a fused attention kernel comes from cuDNN or a framework, and none is opened here";
  if (w.kernel == Kernel::stream) {
    return w.bytes().value() / w.portion >= static_cast<Count>(sizeof(float)) ? "" : "moves nothing";
  }
  if (w.dtype != DType::float32) return "the passes over memory are in fp32";
  return w.elements % 4 == 0 ? "" : "arrays are whole vectors of four";
}

void CudaBackend::lay_out(CudaTask& task) const {
  const Workload& w = task.workload;
  const auto floats = [](Count count) { return static_cast<std::size_t>(count) * sizeof(float); };
  if (w.kernel == Kernel::matmul) {
    const auto size = static_cast<std::size_t>(size_of(w.dtype).value());
    const std::size_t a = size * static_cast<std::size_t>(w.batch * w.m * w.k),
                      b = size * static_cast<std::size_t>(w.batch * w.k * w.n);
    task.b_offset = aligned(a);
    task.in_bytes = task.out_offset = task.b_offset + aligned(b);
    task.out_bytes = static_cast<std::size_t>((size_of(product_output(w.dtype)) * w.elements).value());
    task.moved = Bytes(static_cast<Count>(a + b + task.out_bytes));
  } else if (w.kernel == Kernel::stream) {
    task.read_words = w.read.value() / w.portion / static_cast<Count>(sizeof(float));
    task.written_words = w.written.value() / w.portion / static_cast<Count>(sizeof(float));
    task.in_bytes = task.out_offset = aligned(floats(task.read_words));
    task.out_bytes = floats(task.written_words);
    task.moved = Bytes(static_cast<Count>(floats(task.read_words) + task.out_bytes));
  } else {
    const Count inputs = arrays_read(w.kernel), outputs = arrays_written(w.kernel);
    task.array = aligned(floats(w.elements));
    task.in_bytes = task.out_offset = task.array * static_cast<std::size_t>(inputs);
    task.out_bytes = task.array * static_cast<std::size_t>(outputs);
    const Count passes = inputs + outputs * (w.kernel == Kernel::adamw ? 2 : 1);
    task.moved = Bytes(static_cast<Count>(floats(w.elements)) * passes);
  }
  task.stride = aligned(task.out_offset + task.out_bytes);
  task.windows = 1;
  if (w.cold) {
    // Three times the cache is the rule for rotation; what is called cold must be four times as much.
    const Count wanted = std::max<Count>(2, ceil_div(cold_caches * cache_.value(), static_cast<Count>(task.stride)));
    const Count possible = memory_.value() / 2 / static_cast<Count>(task.stride);
    task.windows = std::max<Count>(1, std::min(wanted, possible));
  }
  task.footprint = Bytes(task.windows * static_cast<Count>(task.stride));
}

std::unique_ptr<Task> CudaBackend::prepare(const Workload& workload) {
  auto task = std::make_unique<CudaTask>(workload);
  const Workload& w = task->workload;
  if (w.kernel == Kernel::launch) return task;
  if (is_transfer(w.kernel)) {
    const auto bytes = static_cast<std::size_t>(w.elements);
    const bool pinned = w.variant == "pinned";
    task->memory = std::make_unique<DeviceMemory>(2 * aligned(bytes));
    task->host = std::make_unique<HostMemory>(bytes, pinned);
    task->host_back = std::make_unique<HostMemory>(bytes, pinned);
    task->stride = aligned(bytes);
    task->moved = w.bytes();
    task->footprint = Bytes(w.elements);
    auto* values = static_cast<unsigned char*>(task->host->data());
    for (std::size_t i = 0; i < bytes; ++i) values[i] = static_cast<unsigned char>(i * 131 + i / 251);
    require(cudaMemcpy(task->memory->at(task->stride), values, bytes, cudaMemcpyHostToDevice), "a copy");
    return task;
  }
  lay_out(*task);
  task->memory = std::make_unique<DeviceMemory>(task->stride * static_cast<std::size_t>(task->windows));
  task->sums =
      std::make_unique<DeviceMemory>(sizeof(float) * static_cast<std::size_t>(processors_ * read_blocks_per_processor));
  const DType filled = w.kernel == Kernel::matmul ? w.dtype : DType::float32;
  const auto elements = static_cast<std::int64_t>(task->stride * static_cast<std::size_t>(task->windows)) /
                        static_cast<std::int64_t>(size_of(filled).value());
  fill_random(task->memory->at(0), elements, 0, format_of(filled), stream_);
  require(cudaGetLastError(), "filling memory");
  if (w.kernel == Kernel::matmul && is_product_variant(w.variant)) {
    task->product = std::make_unique<Product>(w, blas_);
    if (w.variant == "cublaslt-best") choose_fastest(*task);
    if (w.variant.empty()) task->workload.variant = "cublaslt";
  }
  require(cudaStreamSynchronize(stream_), "filling memory");
  return task;
}

// The first choice of the heuristic is not always the fastest.
void CudaBackend::choose_fastest(CudaTask& task) {
  double least = 0;
  std::size_t best = 0;
  for (std::size_t i = 0; i < task.product->candidates(); ++i) {
    task.product->choose(i);
    run_graph(task, 1);
    const double seconds = run_graph(task, 3).seconds;
    if (i > 0 && seconds >= least) continue;
    least = seconds;
    best = i;
  }
  task.product->choose(best);
}

void CudaBackend::enqueue_matmul(CudaTask& task, char* window) {
  const Workload& w = task.workload;
  char *b = window + task.b_offset, *c = window + task.out_offset;
  if (task.product) return task.product->run(window, b, c, stream_);
  const auto size = [](Count count) { return static_cast<int>(count); };
  if (w.variant == "tensor")
    return matmul_tensor(window, b, c, format_of(w.dtype), size(w.batch), size(w.m), size(w.n), size(w.k), stream_);
  const auto start = w.variant == "plain" ? matmul_plain : w.variant == "shared" ? matmul_shared : matmul_registers;
  start(reinterpret_cast<const float*>(window), reinterpret_cast<const float*>(b), reinterpret_cast<float*>(c),
        size(w.batch), size(w.m), size(w.n), size(w.k), stream_);
}

void CudaBackend::enqueue(CudaTask& task, Count round) {
  const Workload& w = task.workload;
  if (w.kernel == Kernel::launch) return do_nothing(stream_);
  char* window = task.window(round);
  if (w.kernel == Kernel::matmul) return enqueue_matmul(task, window);
  const auto in = [&](std::size_t i) { return reinterpret_cast<const float*>(window + i * task.array); };
  const auto out = [&](std::size_t i) { return reinterpret_cast<float*>(window + task.out_offset + i * task.array); };
  auto* sums = reinterpret_cast<float*>(task.sums->at(0));
  if (w.kernel == Kernel::stream)
    return mixed(in(0), out(0), sums, task.read_words, task.written_words, w.transcendental, write_value, processors_,
                 stream_);
  Pass pass{in(0), in(1), out(0), out(1), out(2), w.elements, w.columns, scale_factor, write_value, w.rounds};
  switch (w.kernel) {
    case Kernel::read: pass.out0 = sums; return read(pass, processors_, stream_);
    case Kernel::write: return write(pass, processors_, stream_);
    case Kernel::copy: return copy(pass, processors_, stream_);
    case Kernel::memory_copy:
      return require(cudaMemcpyAsync(out(0), in(0), static_cast<std::size_t>(w.elements) * sizeof(float),
                                     cudaMemcpyDeviceToDevice, stream_),
                     "a copy");
    case Kernel::intensity: return chain(pass, chain_factor, chain_summand, processors_, stream_);
    case Kernel::scale: return scale(pass, processors_, stream_);
    case Kernel::add: return add(pass, processors_, stream_);
    case Kernel::triad: return triad(pass, processors_, stream_);
    case Kernel::gated_activation: return gated_activation(pass, processors_, stream_);
    case Kernel::adamw:
      return adamw(pass, {adam_beta1, adam_beta2, adam_rate, adam_epsilon, adam_decay}, processors_, stream_);
    case Kernel::softmax: return softmax(pass, stream_);
    default: return rms_norm(pass, norm_epsilon, stream_);
  }
}

Timing CudaBackend::run(Task& given, Count repeats, Outputs before) {
  auto& task = static_cast<CudaTask&>(given);
  if (before == Outputs::poisoned) poison(task);
  if (is_transfer(task.workload.kernel)) return run_transfer(task, repeats);
  if (task.workload.kernel == Kernel::launch && task.workload.variant == "waited for") return run_waited(repeats);
  return run_graph(task, repeats);
}

// One launch, and the wait for its end, by the host's clock.
Timing CudaBackend::run_waited(Count repeats) {
  using Clock = std::chrono::steady_clock;
  require(cudaStreamSynchronize(stream_), "the device");
  const Clock::time_point start = Clock::now();
  for (Count i = 0; i < repeats; ++i) {
    do_nothing(stream_);
    require(cudaStreamSynchronize(stream_), "the kernel");
  }
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  require(cudaGetLastError(), "the kernel");
  return {seconds, 0, false};
}

// All launches are in one graph before the clock starts, so that the host's time is not in it.
Timing CudaBackend::run_graph(CudaTask& task, Count repeats) {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  // Here the host's time is what is measured: one by one.
  if (task.workload.kernel == Kernel::launch && task.workload.variant != "graph") {
    require(cudaEventRecord(begin_, stream_), "an event");
    for (Count i = 0; i < repeats; ++i) enqueue(task, i);
    require(cudaEventRecord(end_, stream_), "an event");
  } else {
    require(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), "a graph");
    for (Count i = 0; i < repeats; ++i) enqueue(task, task.next + i);
    require(cudaStreamEndCapture(stream_, &graph), "a graph");
    require(cudaGraphInstantiate(&executable, graph, 0), "a graph");
    require(cudaGraphUpload(executable, stream_), "a graph");
    require(cudaStreamSynchronize(stream_), "a graph");
    require(cudaEventRecord(begin_, stream_), "an event");
    require(cudaGraphLaunch(executable, stream_), "a graph");
    require(cudaEventRecord(end_, stream_), "an event");
  }
  require(cudaEventSynchronize(end_), "the kernel");
  require(cudaGetLastError(), "the kernel");
  float milliseconds = 0;
  require(cudaEventElapsedTime(&milliseconds, begin_, end_), "an event");
  if (executable != nullptr) cudaGraphExecDestroy(executable);
  if (graph != nullptr) cudaGraphDestroy(graph);
  task.next += repeats;
  constexpr double milli = 1e-3;
  return {static_cast<double>(milliseconds) * milli, 0, (device_state().throttle_reasons & throttling) != 0};
}

void CudaBackend::enqueue_transfer(CudaTask& task) {
  const auto bytes = static_cast<std::size_t>(task.workload.elements);
  const Kernel kernel = task.workload.kernel;
  if (kernel != Kernel::device_to_host)
    require(cudaMemcpyAsync(task.memory->at(0), task.host->data(), bytes, cudaMemcpyHostToDevice, stream_),
            "a transfer");
  if (kernel != Kernel::host_to_device)
    require(cudaMemcpyAsync(task.host_back->data(), task.memory->at(task.stride), bytes, cudaMemcpyDeviceToHost,
                            other_stream_),
            "a transfer");
}

// By the host's clock: ordinary memory is copied by the host in part.
Timing CudaBackend::run_transfer(CudaTask& task, Count repeats) {
  using Clock = std::chrono::steady_clock;
  require(cudaDeviceSynchronize(), "the device");
  const Clock::time_point start = Clock::now();
  for (Count i = 0; i < repeats; ++i) enqueue_transfer(task);
  require(cudaStreamSynchronize(stream_), "a transfer");
  require(cudaStreamSynchronize(other_stream_), "a transfer");
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  task.next += repeats;
  return {seconds, 0, false};
}

}  // namespace llmcalc::cuda
