// How the operands of a step's products lie, against PyTorch 2.15 with transformers 5.24: both models on the meta
// device, eager attention, fp32, one step under a TorchDispatchMode that counts aten::mm, addmm and bmm by the strides
// of their operands.
#include <map>
#include <string>

#include "catch.hpp"
#include "core/step_operations.hpp"
#include "tests/support/jobs.hpp"

using namespace llmcalc;

namespace {

using Counts = std::map<std::string, Count>;

Counts products_of(const std::string& model) {
  const test::TracedJob job = test::traced_job(
      model, "a100-sxm-80gb",
      {{"batch", "2"}, {"seq", "128"}, {"precision", "fp32"}, {"attention", "eager"}, {"optimizer", "none"}});
  Counts counts;
  for (const StepOperation& operation : distinct_operations(job.step.trace, 1)) {
    if (operation.launch.m == 0) continue;
    counts[std::string(name_of(operation.launch.op)) + " " + std::string(layout_of(operation.launch))] +=
        operation.times;
  }
  return counts;
}

}  // namespace

TEST_CASE("Operands lie as PyTorch's do: GPT-2, whose weights are stored (in, out)") {
  CHECK(products_of("gpt2") == Counts{{"addmm NN", 48},
                                      {"bmm NN", 24},
                                      {"bmm NT", 24},
                                      {"bmm TN", 24},
                                      {"mm NN", 1},
                                      {"mm NT", 49},
                                      {"mm TN", 49}});
}

TEST_CASE("Operands lie as PyTorch's do: Llama 3 8B, whose weights are stored (out, in)") {
  CHECK(products_of("llama-3-8b") ==
        Counts{{"bmm NN", 64}, {"bmm NT", 64}, {"bmm TN", 64}, {"mm NN", 225}, {"mm NT", 225}, {"mm TN", 225}});
}

TEST_CASE("A product is a measurement of another only when its operands lie the same way") {
  Launch launch;
  launch.op = Op::mm;
  launch.batch = 1;
  launch.m = launch.n = launch.k = 8;
  launch.read = Bytes(512);
  launch.written = Bytes(256);
  MeasuredWorkload w;
  w.op = "mm";
  w.dtype = "fp32";
  w.dimensions = {{"m", 8}, {"n", 8}, {"k", 8}, {"read", 512}, {"written", 256}};
  CHECK(is_measurement_of(w, launch, false));  // a profile from before there were layouts: row by row
  launch.b_turned = true;
  CHECK_FALSE(is_measurement_of(w, launch, false));
  w.layout = "NT";
  CHECK(is_measurement_of(w, launch, false));
}
