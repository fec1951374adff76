// Fused attention on the processor: against PyTorch's figures, against planted faults, and as an operation of a step.
#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <tuple>

#include "catch.hpp"
#include "core/ops/attention.hpp"
#include "core/step_operations.hpp"
#include "core/trace.hpp"
#include "kernels/attention_reference.hpp"
#include "kernels/cpu/backend.hpp"
#include "kernels/data.hpp"
#include "kernels/plan.hpp"
#include "kernels/sampler.hpp"

using namespace llmcalc;
using cpu::AttentionPart;
using cpu::AttentionProblem;

namespace {

const std::atomic<bool> go_on{false};

enum class Fault {
  none,
  last_query,       // the last row of queries is left out
  last_keys,        // so are the last keys
  sees_ahead,       // the causal mask is off by one
  wrong_kv_head,    // grouped heads take their neighbours' keys
  no_scale,         //
  swapped,          // the gradients of k and v
  one_log_sum_off,  // by a thousandth
  one_head,         // a single head holds zeros
};
Count planted_head = 0;  // of Fault::one_head

// Attention as the textbook has it, in float64, with one mistake.
template <Fault fault>
struct Textbook {
  const AttentionProblem& p;
  const AttentionShape& s = p.shape;

  Count group() const { return s.heads / s.kv_heads; }
  Count kv_head(Count head) const { return fault == Fault::wrong_kv_head ? head % s.kv_heads : head / group(); }
  bool sees(Count i, Count j) const {
    if (fault == Fault::last_keys && j >= s.length - 3) return false;
    const Count ahead = fault == Fault::sees_ahead ? 1 : 0;
    return s.window == 0 || (j <= i + ahead && i - j < s.window);
  }
  double score(Count b, Count h, Count i, Count j) const {
    const float* q = p.q + ((b * s.length + i) * s.heads + h) * s.qk_size;
    const float* k = p.k + ((b * s.length + j) * s.kv_heads + kv_head(h)) * s.qk_size;
    double sum = 0;
    for (Count d = 0; d < s.qk_size; ++d) sum += static_cast<double>(q[d]) * static_cast<double>(k[d]);
    return fault == Fault::no_scale ? sum : sum / std::sqrt(static_cast<double>(s.qk_size));
  }
  void forward(Count b, Count h, Count i) const {
    if (fault == Fault::one_head && h == planted_head) {
      std::fill_n(p.out + ((b * s.length + i) * s.heads + h) * s.v_size, s.v_size, 0.0F);
      p.log_sums[(b * s.heads + h) * s.log_sum_rows + i] = 0;
      return;
    }
    double sum = 0;
    for (Count j = 0; j < s.length; ++j) sum += sees(i, j) ? std::exp(score(b, h, i, j)) : 0;
    float* out = p.out + ((b * s.length + i) * s.heads + h) * s.v_size;
    for (Count d = 0; d < s.v_size; ++d) {
      double mixed = 0;
      for (Count j = 0; j < s.length; ++j) {
        const float v = p.v[((b * s.length + j) * s.kv_heads + kv_head(h)) * s.v_size + d];
        if (sees(i, j)) mixed += std::exp(score(b, h, i, j)) / sum * static_cast<double>(v);
      }
      out[d] = static_cast<float>(mixed);
    }
    p.log_sums[(b * s.heads + h) * s.log_sum_rows + i] =
        static_cast<float>(std::log(sum)) + (fault == Fault::one_log_sum_off && i == s.length - 1 ? 1e-3F : 0);
  }
  void backward(Count b, Count h, Count i, float* k_gradient, float* v_gradient) const {
    const Count q_at = ((b * s.length + i) * s.heads + h) * s.qk_size,
                out_at = ((b * s.length + i) * s.heads + h) * s.v_size;
    const float log_sum =
        p.log_sums[(b * s.heads + h) * s.log_sum_rows + i] + (fault == Fault::one_log_sum_off ? 1e-3F : 0);
    std::vector<double> q_gradient(static_cast<std::size_t>(s.qk_size));
    for (Count j = 0; j < s.length; ++j) {
      if (!sees(i, j)) continue;
      const Count k_at = ((b * s.length + j) * s.kv_heads + kv_head(h)) * s.qk_size,
                  v_at = ((b * s.length + j) * s.kv_heads + kv_head(h)) * s.v_size;
      const double probability = std::exp(score(b, h, i, j) - static_cast<double>(log_sum));
      double slope = 0;
      for (Count d = 0; d < s.v_size; ++d) {
        const double g = static_cast<double>(p.out_gradient[out_at + d]);
        slope += g * static_cast<double>(p.v[v_at + d] - p.out[out_at + d]);
        v_gradient[v_at + d] += static_cast<float>(probability * g);
      }
      slope *= probability * (fault == Fault::no_scale ? 1 : 1 / std::sqrt(static_cast<double>(s.qk_size)));
      for (Count d = 0; d < s.qk_size; ++d) {
        q_gradient[static_cast<std::size_t>(d)] += slope * static_cast<double>(p.k[k_at + d]);
        k_gradient[k_at + d] += static_cast<float>(slope * static_cast<double>(p.q[q_at + d]));
      }
    }
    for (Count d = 0; d < s.qk_size; ++d)
      p.q_gradient[q_at + d] = static_cast<float>(q_gradient[static_cast<std::size_t>(d)]);
  }
};

// One thread does it all: the one whose part begins the first head.
template <Fault fault>
void textbook(const AttentionProblem& p, const AttentionPart& part) {
  const AttentionShape& s = p.shape;
  const bool backward = part.query_gradients || part.key_gradients;
  if (part.batch != 0 || part.head != 0 || part.queries.first != 0 || (backward && !part.query_gradients)) return;
  const Count size = s.batch * s.length * s.kv_heads;
  float *k_gradient = p.k_gradient, *v_gradient = p.v_gradient;
  if (fault == Fault::swapped) std::swap(k_gradient, v_gradient);
  if (backward) {
    std::fill(p.k_gradient, p.k_gradient + size * s.qk_size, 0.0F);
    std::fill(p.v_gradient, p.v_gradient + size * s.v_size, 0.0F);
  }
  const Textbook<fault> book{p};
  for (Count b = 0; b < s.batch; ++b) {
    for (Count h = 0; h < s.heads; ++h) {
      for (Count i = 0; i < s.length - (fault == Fault::last_query); ++i) {
        if (backward)
          book.backward(b, h, i, k_gradient, v_gradient);
        else
          book.forward(b, h, i);
      }
    }
  }
}

MeasuredWorkload measured_on_cpu(cpu::CpuBackend& backend, Workload workload, const std::string& variant) {
  workload.variant = variant;
  workload.cold = false;
  Limits limits;
  limits.fewest = limits.most = 1;
  limits.warm_up = 1;
  limits.shortest_sample = 0;
  DeviceInfo info;
  info.last_level_cache = Bytes(1 << 16);
  const auto outcomes = measure_group(backend, info, {workload}, limits, go_on);
  INFO(outcomes[0].skipped);
  REQUIRE(outcomes[0].skipped.empty());
  return outcomes[0].record;
}

AttentionShape shape_of(Count batch, Count heads, Count kv_heads, Count length, Count size, Count window) {
  AttentionShape s;
  s.batch = batch;
  s.heads = heads;
  s.kv_heads = kv_heads;
  s.length = s.log_sum_rows = length;
  s.qk_size = s.v_size = size;
  s.window = window;
  return s;
}

// Whole numbers over whole numbers: the same in Python.
std::vector<float> values(Count count, Count factor, Count modulus) {
  std::vector<float> all;
  for (Count i = 0; i < count; ++i)
    all.push_back(static_cast<float>(i * factor % modulus - modulus / 2) / static_cast<float>(modulus / 2));
  return all;
}

void check_row(const std::vector<float>& got, const std::vector<double>& want) {
  REQUIRE(got.size() == want.size());
  for (std::size_t i = 0; i < want.size(); ++i) {
    INFO(i);
    CHECK(static_cast<double>(got[i]) == Approx(want[i]).margin(2e-6));
  }
}

}  // namespace

TEST_CASE("Forward and backward together give PyTorch's output and gradients") {
  // torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True) in float64: two heads
  // that share one of k and v, three tokens, heads of two; tokens first, as the kernels have it.
  const std::vector<double> out{-1,           -0.625,       -1,           -0.625,      -0.542406854, -0.167406854,
                                -0.460249959, -0.085249959, -0.302739521, 0.072260479, -0.438772652, -0.063772652};
  const std::vector<double> log_sums{0.659966329, 0.871216361, 1.266460234, 0.164991582, 0.706090678, 1.174231158};
  const std::vector<double> q_gradient{
      0, 0, 0, 0, 0.140167810, -0.042050343, 0.079253523, -0.023776057, 0.059700182, 0.057084624, 0, 0};
  const std::vector<double> k_gradient{-0.014338451, 0.020067879, 0.053896084, -0.049736103, -0.039557633, 0.029668225};
  const std::vector<double> v_gradient{1.095328884, -0.719191162, 1.449535554, -0.690563592, 0.344024450, -0.256911913};
  const std::vector<float> q = values(12, 7, 11), k = values(6, 5, 13), v = values(6, 3, 17), g = values(12, 9, 19);
  for (const cpu::KernelTable& table : cpu::kernel_tables()) {
    INFO(table.name);
    std::vector<float> o(12), lse(6), dq(12), dk(6), dv(6);
    AttentionProblem p;
    p.shape = shape_of(1, 2, 1, 3, 2, 3);
    p.skips_masked = true;
    p.q = q.data(), p.k = k.data(), p.v = v.data(), p.out = o.data(), p.log_sums = lse.data();
    p.out_gradient = g.data(), p.q_gradient = dq.data(), p.k_gradient = dk.data(), p.v_gradient = dv.data();
    for (Count head : {0, 1}) table.attention(p, {0, head, {0, 3}, {0, 3}, false, false});
    table.attention_backward(p, {0, 0, {0, 3}, {0, 3}, true, true});
    check_row(o, out);
    check_row(lse, log_sums);
    check_row(dq, q_gradient);
    check_row(dk, k_gradient);
    check_row(dv, v_gradient);
    // So does what verifies them.
    const AttentionData data{p.shape,        p.q,          p.k,          p.v,         p.out, p.log_sums,
                             p.out_gradient, p.q_gradient, p.k_gradient, p.v_gradient};
    double log_sum = 0;
    CHECK(attention_output(data, 0, 1, 2, log_sum).values[0] == Approx(out[10]).margin(1e-8));
    CHECK(log_sum == Approx(log_sums[5]));
    CHECK(attention_q_gradient(data, 0, 0, 2).values[1] == Approx(q_gradient[9]).margin(1e-6));
    CHECK(attention_k_gradient(data, 0, 0, 1).values[0] == Approx(k_gradient[2]).margin(1e-6));
    CHECK(attention_v_gradient(data, 0, 0, 2).values[1] == Approx(v_gradient[5]).margin(1e-6));
  }
}

TEST_CASE("Attention's check finds what a kernel leaves out or gets wrong") {
  const std::string ahead = "sees ahead", swapped = "swapped";
  cpu::CpuBackend backend({{"right", nullptr, textbook<Fault::none>},
                           {"last query", nullptr, textbook<Fault::last_query>},
                           {"last keys", nullptr, textbook<Fault::last_keys>},
                           {ahead, nullptr, textbook<Fault::sees_ahead>},
                           {"kv head", nullptr, textbook<Fault::wrong_kv_head>},
                           {"scale", nullptr, textbook<Fault::no_scale>},
                           {swapped, nullptr, textbook<Fault::swapped>},
                           {"log-sum", nullptr, textbook<Fault::one_log_sum_off>}},
                          0, Bytes(1 << 16));
  for (Kernel kernel : {Kernel::attention, Kernel::attention_backward}) {
    for (Count window : {Count{0}, Count{50}, Count{21}}) {
      const Workload w = attention_workload(kernel, DType::float32, shape_of(2, 6, 2, 50, 12, window));
      INFO(key_of(w));
      const MeasuredWorkload right = measured_on_cpu(backend, w, "right");
      INFO(right.problem);
      CHECK(right.verified);
      for (const std::string& fault : {std::string("last query"), std::string("last keys"), ahead,
                                       std::string("kv head"), std::string("scale"), swapped, std::string("log-sum")}) {
        if ((fault == ahead && window == 0) || (fault == swapped && kernel == Kernel::attention)) continue;
        INFO(fault);
        const MeasuredWorkload wrong = measured_on_cpu(backend, w, fault);
        CHECK_FALSE(wrong.verified);
        CHECK_FALSE(wrong.problem.empty());
      }
    }
  }
}

TEST_CASE("Attention's check looks at every head, however many there are") {
  cpu::CpuBackend backend({{"one head", nullptr, textbook<Fault::one_head>}}, 0, Bytes(1 << 16));
  const Workload w = attention_workload(Kernel::attention, DType::float32, shape_of(1, 64, 64, 24, 2, 0));
  for (planted_head = 0; planted_head < 64; ++planted_head) {
    INFO(planted_head);
    CHECK_FALSE(measured_on_cpu(backend, w, "one head").verified);
  }
}

TEST_CASE("Every row of queries and keys belongs to one part, and threads have as much to do") {
  for (bool backward : {false, true}) {
    for (std::size_t threads : {1U, 2U, 3U, 7U, 32U}) {
      INFO(threads);
      AttentionProblem p;
      p.shape = shape_of(2, 6, 3, 300, 64, 300);
      p.skips_masked = true;
      const auto parts = cpu::attention_parts(p, backward, threads);
      REQUIRE(parts.size() == threads);
      std::set<std::tuple<Count, Count, Count>> queries, keys;
      std::size_t idle = 0;
      for (const auto& of_thread : parts) {
        idle += of_thread.empty();
        for (const AttentionPart& part : of_thread) {
          for (Count i = part.queries.first; i < part.queries.end && (part.query_gradients || !backward); ++i)
            CHECK(queries.insert({part.batch, part.head, i}).second);
          for (Count i = part.keys.first; i < part.keys.end && part.key_gradients; ++i)
            CHECK(keys.insert({part.batch, part.head, i}).second);
        }
      }
      // Six heads on seven threads: split, a thread does six sevenths of seven products, and whole all of five.
      CHECK(idle == (backward && threads == 7 ? 1 : 0));
      CHECK(queries.size() == static_cast<std::size_t>(2 * (backward ? 3 : 6) * 300));
      CHECK(keys.size() == static_cast<std::size_t>(backward ? 2 * 3 * 300 : 0));
    }
  }
}

TEST_CASE("Shapes, FLOPs and bytes of attention are the engine's") {
  // 2 FLOPs, two products of 64, 12 heads, 256 * 257 / 2 pairs; backward five products.
  const AttentionShape shape = shape_of(1, 12, 12, 256, 64, 256);
  const Workload forward = attention_workload(Kernel::attention, DType::float32, shape);
  const Workload backward = attention_workload(Kernel::attention_backward, DType::float32, shape);
  const Count pairs = 256 * 257 / 2, array = 4 * 12 * 256 * 64, log_sums = 4 * 12 * 256;
  CHECK(forward.flops == Flops(2 * 2 * 64 * 12 * pairs));
  CHECK(backward.flops == Flops(2 * 5 * 64 * 12 * pairs));
  CHECK(forward.read == Bytes(3 * array));
  CHECK(forward.written == Bytes(array + log_sums));
  CHECK(backward.read == Bytes(5 * array + log_sums));
  CHECK(backward.written == Bytes(3 * array));
  // A window of 32: 32 * 33 / 2 pairs, then 32 for each of the other 224 queries.
  CHECK(attention_workload(Kernel::attention, DType::float32, shape_of(1, 12, 12, 256, 64, 32)).flops ==
        Flops(2 * 2 * 64 * 12 * (32 * 33 / 2 + 224 * 32)));
}

TEST_CASE("A step's attention is found again by its shape, and by which pairs it scores") {
  const Count length = 40;
  const auto tape = [&](Count heads, const ScorePairs& pairs) {
    const LeafSpec leaf{{1, heads, length, 16}, DType::float32, true};
    Trace t({}, {leaf, leaf, leaf});
    t.backward(
        fused_attention(t, AttentionKernel::efficient, t.parameter(0), t.parameter(1), t.parameter(2), nullptr, pairs),
        0);
    return distinct_operations(t, 1);
  };
  const ScorePairs causal{2 * length * length, length * length, length * (length + 1)},
      full{2 * length * length, 2 * length * length, 2 * length * length},
      // Two documents of 20: no window says which pairs these are.
      packed{2 * length * length, 2 * 20 * 20, 2 * 20 * 21};
  cpu::CpuBackend backend({}, 0, Bytes(1 << 16));
  for (const StepOperation& operation : tape(4, causal)) {
    const Workload w = step_workload(operation.launch, operation.where, 1, 0);
    INFO(key_of(w));
    CHECK(is_attention(w.kernel));
    const MeasuredWorkload found = measured_on_cpu(backend, w, "");
    INFO(found.problem);
    CHECK(found.verified);
    CHECK(found.variant == "vectorised");
    CHECK(is_measurement_of(found, operation.launch, false));
    CHECK_FALSE(is_measurement_of(found, operation.launch, true));
    for (const auto& other : {tape(4, full), tape(2, causal)}) {
      for (const StepOperation& o : other) CHECK_FALSE(is_measurement_of(found, o.launch, false));
    }
  }
  for (const StepOperation& operation : tape(4, packed))
    CHECK(backend.supports(step_workload(operation.launch, "", 1, 0)).find("packed") != std::string::npos);
}

TEST_CASE("A processor's plan calibrates attention, a GPU's does not") {
  for (bool gpu : {false, true}) {
    DeviceInfo info;
    info.is_gpu = gpu;
    std::size_t passes = 0;
    for (const Group& group : make_plan(info, Effort::quick, {}, {}).groups)
      passes += is_attention(group.variants[0].kernel);
    CHECK(passes == (gpu ? 0 : 4));
  }
}
