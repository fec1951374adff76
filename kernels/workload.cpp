#include "kernels/workload.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

#include "core/blocks/activation.hpp"
#include "core/blocks/attention.hpp"
#include "core/ops/attention.hpp"
#include "core/ops/cast.hpp"
#include "core/ops/data.hpp"
#include "core/ops/elementwise.hpp"
#include "core/ops/matmul.hpp"
#include "core/ops/normalise.hpp"
#include "core/optimizer.hpp"
#include "core/trace.hpp"

namespace llmcalc {
namespace {

constexpr std::array<std::string_view, 21> kernel_names{"read",
                                                        "write",
                                                        "copy",
                                                        "memcpy",
                                                        "scale",
                                                        "add",
                                                        "triad",
                                                        "adamw",
                                                        "softmax",
                                                        "rms_norm",
                                                        "gated_activation",
                                                        "intensity",
                                                        "stream",
                                                        "matmul",
                                                        "attention",
                                                        "attention_backward",
                                                        "peak",
                                                        "launch",
                                                        "host_to_device",
                                                        "device_to_host",
                                                        "both_directions"};

// Leaves of the given shapes on a tape of their own; what is launched there has the engine's FLOPs and bytes.
Trace tape_with(DType dtype, std::initializer_list<Dims> shapes) {
  std::vector<LeafSpec> leaves;
  for (const Dims& shape : shapes) leaves.push_back({shape, dtype, false});
  return Trace({}, std::move(leaves));
}

void take_costs(const Trace& tape, Workload& w) {
  for (const Launch& launch : tape.tape()) {
    if (is_matrix_product(launch.op)) w.flops += executed_flops(launch, AttentionCounting::full);
    w.flops += Flops(launch.elementwise) * launch.repeat;
    w.read += launch.read * launch.repeat;
    w.written += launch.written * launch.repeat;
  }
}

// One fused kernel: what is between its inputs and its output never reaches memory.
void take_ends(const Trace& tape, Workload& w, Count inputs) {
  take_costs(tape, w);
  const Bytes one = size_of(w.dtype) * w.elements;
  w.read = one * inputs;
  w.written = one;
}

void trace_memory_operation(Workload& w, Kernel kernel) {
  const Count rows = w.columns > 0 ? w.elements / w.columns : 1;
  const Dims shape{rows, w.elements / rows};
  Trace t = tape_with(w.dtype, {shape, shape});
  const Tensor a = t.parameter(0), b = t.parameter(1);
  switch (kernel) {
    case Kernel::write: constant(t, w.dtype, shape); break;
    case Kernel::copy:
    case Kernel::memory_copy: copy(t, a); break;
    case Kernel::scale: mul(t, a, 0.5); break;
    case Kernel::add: add(t, a, b); break;
    case Kernel::triad: {  // a + s * b in one kernel
      pointwise(t, Op::add, {&a, &b}, 2);
      break;
    }
    case Kernel::intensity: {
      pointwise(t, Op::add, {&a}, 2 * w.rounds);
      break;
    }
    case Kernel::softmax: softmax(t, a); break;
    case Kernel::read: {  // the sum of everything
      const Tensor row = mean_last(t, a);
      take_costs(t, w);
      w.written = Bytes(0);
      return;
    }
    case Kernel::rms_norm:
      layer_norm(t, a, nullptr, nullptr);
      take_ends(t, w, 1);
      return;
    case Kernel::gated_activation: {
      const Tensor gate = activate(t, a, Activation::silu);
      mul(t, gate, b);
      take_ends(t, w, 2);
      return;
    }
    case Kernel::adamw: {
      const OptimizerCost cost = optimizer_named("adamw")->cost(Dims{w.elements}, w.dtype);
      w.read = cost.read;
      w.written = cost.written;
      return;
    }
    default: throw std::invalid_argument("not a kernel over memory");
  }
  take_costs(t, w);
}

bool takes_exponential(Op op) {
  switch (op) {
    case Op::tanh:
    case Op::exp:
    case Op::log:
    case Op::sigmoid:
    case Op::silu:
    case Op::gelu:
    case Op::softplus:
    case Op::pow:
    case Op::cos:
    case Op::sin:
    case Op::gated_activation:
    case Op::softmax:
    case Op::log_softmax: return true;
    default: return false;
  }
}

const char* name_of_pass(Pass pass) {
  switch (pass) {
    case Pass::forward: return "forward";
    case Pass::backward: return "backward";
    case Pass::recompute: return "recomputed";
    case Pass::optimizer: return "step";
  }
  return "";
}

}  // namespace

std::string_view name_of(Kernel kernel) { return kernel_names[static_cast<std::size_t>(kernel)]; }

bool is_attention(Kernel kernel) { return kernel == Kernel::attention || kernel == Kernel::attention_backward; }

bool is_transfer(Kernel kernel) { return kernel >= Kernel::host_to_device; }

Count arrays_read(Kernel kernel) {
  switch (kernel) {
    case Kernel::write: return 0;
    case Kernel::add:
    case Kernel::triad:
    case Kernel::gated_activation: return 2;
    default: return 1;
  }
}

Count arrays_written(Kernel kernel) { return kernel == Kernel::read ? 0 : kernel == Kernel::adamw ? 3 : 1; }

std::string dtype_key(const Workload& w) {
  switch (w.dtype) {
    case DType::float64: return "fp64";
    case DType::float32: return w.tf32 ? "tf32" : "fp32";
    case DType::bfloat16: return "bf16";
    case DType::float16: return "fp16";
    case DType::float8_e4m3fn: return "fp8";
    default: return std::string(name_of(w.dtype));
  }
}

std::string layout_of(const Workload& w) {
  if (w.kernel != Kernel::matmul) return "";
  return std::string(w.a_turned ? "T" : "N") + (w.b_turned ? "T" : "N");
}

DType product_output(DType operands) { return operands == DType::float8_e4m3fn ? DType::bfloat16 : operands; }

namespace {

// The FLOPs tell which pairs are scored.
template <class Size>
std::string attention_key(const Size& size, Flops flops) {
  std::string key;
  for (const char* name : {"batch", "heads", "kv_heads", "length", "qk_size", "v_size"})
    key += "," + std::to_string(size(name));
  return key + " " + to_string(flops) + " flops";
}

// Row by row, and whatever else is usual, goes without saying.
std::string said(const std::string& layout) { return layout.empty() || layout == "NN" ? "" : " " + layout; }

}  // namespace

std::map<std::string, Count> dimensions_of(const AttentionShape& s) {
  return {{"batch", s.batch},   {"heads", s.heads},     {"kv_heads", s.kv_heads},
          {"length", s.length}, {"qk_size", s.qk_size}, {"v_size", s.v_size}};
}

std::string key_of(const Workload& w) {
  std::string key = w.name + " " + dtype_key(w) + " " + w.variant;
  if (!w.op.empty())
    key += " " + w.op + " in " + std::to_string(w.read.value()) + " out " + std::to_string(w.written.value());
  if (w.kernel == Kernel::matmul) {
    for (Count size : {w.batch, w.m, w.n, w.k}) key += "," + std::to_string(size);
    key += said(layout_of(w));
  } else if (is_attention(w.kernel)) {
    const std::map<std::string, Count> sizes = dimensions_of(w.attention);
    key += attention_key([&](const char* name) { return sizes.at(name); }, w.flops);
  } else if (w.op.empty()) {
    key += "," + std::to_string(w.elements);
    for (Count more : {w.columns, w.rounds}) key += more > 0 ? "," + std::to_string(more) : "";
  }
  if (!w.span.empty()) key += " " + w.span;
  return key + (w.cold ? " cold" : "");
}

std::string key_of(const MeasuredWorkload& m) {
  const auto size = [&](const char* name, Count otherwise) {
    const auto found = m.dimensions.find(name);
    return found == m.dimensions.end() ? otherwise : found->second;
  };
  std::string key = m.workload + " " + m.dtype + " " + m.variant;
  if (!m.op.empty())
    key += " " + m.op + " in " + std::to_string(size("read", 0)) + " out " + std::to_string(size("written", 0));
  if (size("m", 0) > 0) {
    for (Count one : {size("batch", 1), size("m", 0), size("n", 0), size("k", 0)}) key += "," + std::to_string(one);
    key += said(m.layout);
  } else if (size("kv_heads", 0) > 0) {
    key += attention_key([&](const char* name) { return size(name, 0); }, m.flops);
  } else if (m.op.empty()) {
    key += "," + std::to_string(size("elements", 0));
    for (Count more : {size("columns", 0), size("rounds", 0)}) key += more > 0 ? "," + std::to_string(more) : "";
  }
  if (!m.span.empty()) key += " " + m.span;
  return key + (m.state == "cold" ? " cold" : "");
}

Workload memory_workload(Kernel kernel, DType dtype, Count elements, Count columns) {
  Workload w;
  w.name = name_of(kernel);
  w.kernel = kernel;
  w.dtype = dtype;
  w.columns = columns;
  w.elements = columns > 0 ? elements / columns * columns : elements;
  trace_memory_operation(w, kernel);
  return w;
}

Workload intensity_workload(Count elements, Count rounds) {
  Workload w;
  w.name = name_of(Kernel::intensity);
  w.kernel = Kernel::intensity;
  w.elements = elements;
  w.rounds = rounds;
  trace_memory_operation(w, Kernel::intensity);
  return w;
}

Workload matmul_workload(DType dtype, Count m, Count n, Count k, Count batch, const std::string& layout) {
  Workload w;
  w.name = "matmul";
  w.kernel = Kernel::matmul;
  w.dtype = dtype;
  w.batch = batch;
  w.m = m;
  w.n = n;
  w.k = k;
  w.elements = batch * m * n;
  w.a_turned = layout[0] == 'T';
  w.b_turned = layout[1] == 'T';
  Trace t = tape_with(dtype, {Dims{batch, m, k}, Dims{batch, k, n}});
  bmm(t, t.parameter(0), t.parameter(1));
  take_costs(t, w);
  w.written = size_of(product_output(dtype)) * w.elements;
  return w;
}

namespace {

void take_attention(const Launch& launch, Workload& w) {
  w.kernel = launch.op == Op::attention_backward ? Kernel::attention_backward : Kernel::attention;
  w.name = name_of(w.kernel);
  w.dtype = launch.dtype;
  w.attention = launch.attention;
  w.skips_masked = launch.skips_masked;
  w.flops = least_flops(launch);
  w.read = launch.read;
  w.written = launch.written;
}

}  // namespace

Workload attention_workload(Kernel kernel, DType dtype, const AttentionShape& s) {
  const auto leaf = [&](Count heads, Count size) { return LeafSpec{{s.batch, heads, s.length, size}, dtype, true}; };
  Trace t({}, {leaf(s.heads, s.qk_size), leaf(s.kv_heads, s.qk_size), leaf(s.kv_heads, s.v_size)});
  Job job;
  job.seq = s.length;
  AttentionTraits traits;
  traits.causal = s.window > 0;
  traits.window = s.window;
  // cuDNN's takes grouped heads and any size of them as they are.
  const Tensor out = fused_attention(t, AttentionKernel::cudnn, t.parameter(0), t.parameter(1), t.parameter(2), nullptr,
                                     score_pairs(job, traits));
  const Op op = kernel == Kernel::attention ? Op::attention_forward : Op::attention_backward;
  if (kernel == Kernel::attention_backward) t.backward(out, t.next_sequence());
  Workload w;
  for (const Launch& launch : t.tape()) {
    if (launch.op == op) take_attention(launch, w);
  }
  return w;
}

Workload transfer_workload(Kernel direction, Count bytes, const std::string& memory) {
  Workload w;
  w.name = name_of(direction);
  w.kernel = direction;
  w.dtype = DType::uint8;
  w.variant = memory;
  w.elements = bytes;
  w.cold = false;  // it crosses a link, whatever caches hold
  // The payload leaves one memory and enters the other.
  w.read = w.written = Bytes(bytes) * (direction == Kernel::both_directions ? 2 : 1);
  return w;
}

Workload step_workload(const Launch& launch, const std::string& where, Count times, Count row, Count portion) {
  Workload w;
  w.dtype = launch.dtype;
  w.op = name_of(launch.op);
  w.operation = (where.empty() ? "" : where + " ") + w.op + " " + name_of_pass(launch.pass);
  w.times = times;
  w.portion = portion;
  w.read = launch.read;
  w.written = launch.written;
  w.flops = is_matrix_product(launch.op) ? least_flops(launch) : Flops(launch.elementwise);
  if (is_fused_attention(launch.op)) {
    take_attention(launch, w);
    return w;
  }
  if (is_matrix_product(launch.op) && launch.m > 0) {
    w.name = "matmul";
    w.kernel = Kernel::matmul;
    w.batch = launch.batch;
    w.m = launch.m;
    w.n = launch.n;
    w.k = launch.k;
    w.a_turned = launch.a_turned;
    w.b_turned = launch.b_turned;
    w.elements = w.batch * w.m * w.n;
    return w;
  }
  w.name = w.op;
  const Bytes size = size_of(launch.dtype);
  const bool rows = row > 0 && launch.read == launch.written && launch.written.value() % (row * size.value()) == 0;
  const bool is_softmax = launch.op == Op::softmax || launch.op == Op::log_softmax;
  w.kernel = is_softmax && rows ? Kernel::softmax : Kernel::stream;
  w.columns = w.kernel == Kernel::softmax ? row : 0;
  w.elements = std::max(launch.written, size).value() / size.value();
  w.transcendental = takes_exponential(launch.op);
  return w;
}

}  // namespace llmcalc
