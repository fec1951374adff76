// What can be measured: a kernel, its sizes, and the FLOPs and bytes the engine's own operation of that kind has.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/device.hpp"
#include "core/dtype.hpp"
#include "core/op.hpp"
#include "core/units.hpp"

namespace llmcalc {

enum class Kernel : unsigned char {
  // memory: one pass over arrays
  read,
  write,
  copy,
  memory_copy,  // the library's own: memcpy
  scale,
  add,
  triad,
  adamw,
  softmax,
  rms_norm,
  gated_activation,
  intensity,  // a chain of multiply-adds on every element: from bound by memory to bound by arithmetic
  // any operation of a model's step that only moves data, by the bytes it reads and writes
  stream,
  matmul,
  // fused: softmax(Q K^T) V without the square of scores in memory
  attention,
  attention_backward,
  // diagnostics of the machine
  peak,    // multiply-adds in registers
  launch,  // an empty job
  host_to_device,
  device_to_host,
  both_directions,
};

std::string_view name_of(Kernel kernel);
bool is_attention(Kernel kernel);
bool is_transfer(Kernel kernel);  // between the host's memory and a device's
// Of the passes over memory: how many arrays a kernel reads and writes (adamw steps three in place).
Count arrays_read(Kernel kernel);
Count arrays_written(Kernel kernel);

struct Workload {
  std::string name;  // as the profile calls it: matmul, copy, ... ; an operation's own name in a model's step
  Kernel kernel = Kernel::copy;
  std::string variant;  // which code: plain, non-temporal, openblas, ... ; empty: the backend's best
  DType dtype = DType::float32;
  bool tf32 = false;
  Count batch = 1, m = 0, n = 0, k = 0;     // matmul: C (m, n) = A (m, k) x B (k, n)
  bool a_turned = false, b_turned = false;  // that operand lies column by column
  Count elements = 0;                       // of the output, or of what is read where there is none
  Count columns = 0;                        // softmax, rms_norm: length of a row
  Count rounds = 0;                         // intensity: multiply-adds on an element
  bool transcendental = false;              // stream: every output takes an exponential
  AttentionShape attention;
  bool skips_masked = false;  // attention: only the pairs that are seen need be scored
  Flops flops;
  Bytes read, written;
  bool cold = true;  // nothing it touches may be in a cache
  std::string span;  // as in MeasuredWorkload
  std::string op;    // of a model's step, as in MeasuredWorkload
  std::string operation;
  Count times = 1, portion = 1;

  Bytes bytes() const { return read + written; }
};

// The short name profiles use: fp32, tf32, bf16, ...
std::string dtype_key(const Workload& workload);
// How a product's operands lie, as in MeasuredWorkload; empty for what is no product.
std::string layout_of(const Workload& workload);
// What a product of this format is written in: bfloat16 for fp8, as torch._scaled_mm has it.
DType product_output(DType operands);
// As a profile names them.
std::map<std::string, Count> dimensions_of(const AttentionShape& shape);
// What tells two workloads apart, as one line of text.
std::string key_of(const Workload& workload);
std::string key_of(const MeasuredWorkload& measured);

// The harness's own workloads. Each traces the engine's operation of that kind and takes its FLOPs and bytes.
Workload memory_workload(Kernel kernel, DType dtype, Count elements, Count columns = 0);
Workload matmul_workload(DType dtype, Count m, Count n, Count k, Count batch = 1, const std::string& layout = "NN");
Workload intensity_workload(Count elements, Count rounds);
// One pass of fused attention without a mask; of `shape`, log_sum_rows follows from the rest.
Workload attention_workload(Kernel kernel, DType dtype, const AttentionShape& shape);
Workload transfer_workload(Kernel direction, Count bytes, const std::string& memory);

// One distinct operation of a model's step. `row` is the length of the rows a softmax or norm works on.
// `portion` > 1: only so much of a pure stream is run, and its time multiplied.
Workload step_workload(const Launch& launch, const std::string& where, Count times, Count row, Count portion = 1);

}  // namespace llmcalc
