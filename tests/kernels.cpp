// Every kernel of the CPU backend, on every vector unit this machine has, at awkward sizes; what workloads count.
#include <cmath>
#include <string>

#include "catch.hpp"
#include "kernels/cpu/backend.hpp"
#include "kernels/cpu/openblas.hpp"
#include "kernels/plan.hpp"
#include "kernels/reference.hpp"
#include "kernels/sampler.hpp"
#include "kernels/verify.hpp"

using namespace llmcalc;

namespace {

const std::atomic<bool> go_on{false};

Limits few_samples() {
  Limits limits;
  limits.fewest = limits.most = 3;
  limits.shortest_sample = 0;
  return limits;
}

void check_one(cpu::CpuBackend& backend, const Workload& workload) {
  INFO(key_of(workload));
  DeviceInfo info;
  info.last_level_cache = Bytes(1 << 16);
  const auto outcomes = measure_group(backend, info, {workload}, few_samples(), go_on);
  if (!outcomes[0].skipped.empty()) {
    // Stores past the cache exist on x86-64 only; OpenBLAS is optional. Nothing else is left out, nor for another
    // reason.
    REQUIRE((workload.variant == "non-temporal" || workload.variant == "openblas"));
    const std::string why = workload.variant == "openblas" ? cpu::openblas().why_not : "no stores past the cache";
    REQUIRE_FALSE(why.empty());
    CHECK_THAT(outcomes[0].skipped, Catch::Matchers::ContainsSubstring(why));
    return;
  }
  INFO(outcomes[0].record.problem);
  CHECK(outcomes[0].record.verified);
}

}  // namespace

TEST_CASE("Kernels over memory compute what they should") {
  for (std::size_t table = 0; table < cpu::kernel_tables().size(); ++table) {
    INFO(cpu::kernel_tables()[table].name);
    cpu::CpuBackend backend({}, table, Bytes(1 << 16));
    for (Kernel kernel : {Kernel::read, Kernel::write, Kernel::copy, Kernel::memory_copy, Kernel::scale, Kernel::add,
                          Kernel::triad, Kernel::adamw, Kernel::gated_activation}) {
      for (Count elements : {Count{1}, Count{37}, Count{4099}, Count{1 << 16}}) {
        Workload w = memory_workload(kernel, DType::float32, elements);
        check_one(backend, w);
        const bool stores = kernel != Kernel::read && kernel != Kernel::adamw && kernel != Kernel::gated_activation &&
                            kernel != Kernel::memory_copy;
        w.variant = "non-temporal";
        if (stores) check_one(backend, w);
      }
    }
    for (Kernel kernel : {Kernel::softmax, Kernel::rms_norm}) {
      for (Count columns : {Count{1}, Count{17}, Count{1000}})
        check_one(backend, memory_workload(kernel, DType::float32, 5 * columns, columns));
    }
  }
}

TEST_CASE("Chains of multiply-adds, from one link to a thousand") {
  for (std::size_t table = 0; table < cpu::kernel_tables().size(); ++table) {
    INFO(cpu::kernel_tables()[table].name);
    cpu::CpuBackend backend({}, table, Bytes(1 << 16));
    for (Count rounds : {Count{1}, Count{3}, Count{1000}}) {
      for (Count elements : {Count{1}, Count{97}, Count{4099}}) {
        Workload w = intensity_workload(elements, rounds);
        for (const char* variant : {"plain", "non-temporal", ""}) {
          w.variant = variant;
          check_one(backend, w);
        }
      }
    }
  }
  // A missing link must show: the thousandth still moves x by 0.0007, seven times what rounding is allowed.
  CHECK(std::abs(chain_reference(-1, 1000) - chain_reference(-1, 999)) > 5 * error_limit(DType::float32));
  CHECK(chain_reference(-1, 1) == Approx(-0.998));
}

TEST_CASE("Streams of any number of bytes in and out") {
  cpu::CpuBackend backend({}, 0, Bytes(1 << 16));
  struct Shape {
    Count read, written;
  };
  for (const Shape& s : {Shape{4096, 4096}, Shape{8192, 4096}, Shape{4100, 12}, Shape{400, 4096}, Shape{0, 4000},
                         Shape{4000, 0}, Shape{10000, 4096}}) {
    for (Op op : {Op::add, Op::tanh}) {
      Launch launch;
      launch.op = op;
      launch.read = Bytes(s.read);
      launch.written = Bytes(s.written);
      check_one(backend, step_workload(launch, "here", 1, 0));
    }
  }
}

TEST_CASE("Products compute what they should, at every rung and any shape") {
  struct Shape {
    Count batch, m, n, k;
  };
  for (std::size_t table = 0; table < cpu::kernel_tables().size(); ++table) {
    INFO(cpu::kernel_tables()[table].name);
    cpu::CpuBackend backend({}, table, Bytes(1 << 16));
    for (const Shape& s : {Shape{1, 1, 1, 1}, Shape{1, 7, 5, 3}, Shape{1, 97, 131, 300}, Shape{1, 8, 48, 256},
                           Shape{3, 33, 65, 17}, Shape{1, 1, 200, 64}}) {
      for (const char* variant : {"plain", "blocked", "vectorised", "openblas", ""}) {
        for (const char* layout : {"NN", "NT", "TN", "TT"}) {
          Workload w = matmul_workload(DType::float32, s.m, s.n, s.k, s.batch, layout);
          w.variant = variant;
          check_one(backend, w);
        }
      }
    }
  }
}

TEST_CASE("Attention computes what it should, at any shape, masked or not") {
  struct Shape {
    Count batch, heads, kv_heads, length, qk_size, v_size, window;
  };
  for (std::size_t table = 0; table < cpu::kernel_tables().size(); ++table) {
    INFO(cpu::kernel_tables()[table].name);
    cpu::CpuBackend backend({}, table, Bytes(1 << 16));
    for (const Shape& s : {Shape{1, 1, 1, 1, 1, 1, 1}, Shape{2, 6, 2, 100, 20, 12, 7}, Shape{1, 4, 2, 257, 80, 33, 0},
                           Shape{1, 2, 2, 193, 64, 64, 193}, Shape{3, 5, 1, 65, 8, 8, 64}}) {
      for (Kernel kernel : {Kernel::attention, Kernel::attention_backward}) {
        Workload w = attention_workload(kernel, DType::float32,
                                        {s.batch, s.heads, s.kv_heads, s.length, s.qk_size, s.v_size, s.window, 0});
        check_one(backend, w);
        w.skips_masked = false;
        check_one(backend, w);
      }
    }
  }
}

TEST_CASE("FLOPs and bytes come from the engine's operations") {
  // 2 M N K; A, B and C once each, 4 bytes an element.
  const Workload product = matmul_workload(DType::float32, 3, 5, 7);
  CHECK(product.flops == Flops(2 * 3 * 5 * 7));
  CHECK(product.bytes() == Bytes(4 * (3 * 7 + 7 * 5 + 3 * 5)));
  const auto bytes = [](Kernel kernel) {
    return memory_workload(kernel, DType::float32, 1000, kernel == Kernel::softmax ? 10 : 0).bytes();
  };
  CHECK(bytes(Kernel::read) == Bytes(4000));
  CHECK(bytes(Kernel::write) == Bytes(4000));
  CHECK(bytes(Kernel::copy) == Bytes(8000));
  CHECK(bytes(Kernel::scale) == Bytes(8000));
  CHECK(bytes(Kernel::add) == Bytes(12000));
  CHECK(bytes(Kernel::triad) == Bytes(12000));
  CHECK(bytes(Kernel::softmax) == Bytes(8000));
  CHECK(bytes(Kernel::gated_activation) == Bytes(12000));
  CHECK(bytes(Kernel::memory_copy) == Bytes(8000));
  // Seven multiply-adds on each of 1000 elements, which are read and written.
  CHECK(intensity_workload(1000, 7).flops == Flops(14000));
  CHECK(intensity_workload(1000, 7).bytes() == Bytes(8000));
  // fp8 operands, and what torch._scaled_mm writes is bfloat16.
  CHECK(matmul_workload(DType::float8_e4m3fn, 16, 32, 48).bytes() == Bytes(16 * 48 + 48 * 32 + 2 * 16 * 32));
  // p, m, v and the gradient read; p, m, v written.
  CHECK(bytes(Kernel::adamw) == Bytes(28000));
}

TEST_CASE("What the CPU backend cannot do, it says") {
  cpu::CpuBackend backend;
  CHECK(backend.supports(matmul_workload(DType::bfloat16, 8, 8, 8)) == "the CPU backend computes in fp32, not in bf16");
  CHECK_FALSE(backend.supports(transfer_workload(Kernel::host_to_device, 1024, "pinned")).empty());
  Workload w = matmul_workload(DType::float32, 8, 8, 8);
  w.variant = "nobody's";
  CHECK_FALSE(backend.supports(w).empty());
  const AttentionShape shape{1, 2, 2, 16, 8, 8, 16, 16};
  CHECK(backend.supports(attention_workload(Kernel::attention, DType::bfloat16, shape)) ==
        "the CPU backend computes in fp32, not in bf16");
}

TEST_CASE("The clock that was measured is one that processors have") {
  cpu::CpuBackend backend;
  const DeviceInfo info = backend.info();
  REQUIRE(info.clock);
  REQUIRE(info.most_flops);
  CHECK(info.units >= 1);
  // From a 1 GHz embedded core to beyond anything sold: the chain measured cycles, not something else.
  CHECK(info.clock->value() > 0.2e9);
  CHECK(info.clock->value() < 8e9);
}

TEST_CASE("Processor lists of the system are read") {
  CHECK(cpu::parse_processor_list("0-3,8") == std::vector<int>{0, 1, 2, 3, 8});
  CHECK(cpu::parse_processor_list("5") == std::vector<int>{5});
}

TEST_CASE("A plan keeps what --only names, and a step's operations") {
  cpu::CpuBackend backend;
  const DeviceInfo info = backend.info();
  const std::vector<Group> copies = make_plan(info, Effort::quick, {"copy"}, {}).groups;
  REQUIRE_FALSE(copies.empty());
  for (const Group& group : copies)
    for (const Workload& variant : group.variants) CHECK(variant.name == "copy");
  Launch launch;
  launch.op = Op::mm;
  launch.batch = 1;
  launch.m = launch.n = launch.k = 8;
  launch.read = Bytes(512);
  launch.written = Bytes(256);
  const Plan plan = make_plan(info, Effort::quick, {"step"}, {step_workload(launch, "layers.q", 12, 0)});
  REQUIRE(plan.groups.size() == 1);
  CHECK(plan.groups[0].variants[0].operation == "layers.q mm forward");
  CHECK(plan.groups[0].variants[0].times == 12);
}
