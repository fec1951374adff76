// Optimizers: states against torch.optim's, layouts of those that are not in torch against their published form, and
// what is alive during a step.
#include <algorithm>
#include <string>

#include "core/optimizer.hpp"
#include "core/passes/step.hpp"
#include "tests/catch.hpp"
#include "tests/support/estimates.hpp"
#include "tests/support/table.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

OptimizerCost cost(const std::string& name, const Dims& shape, DType dtype = DType::float32, Role role = Role::weight) {
  const Optimizer* optimizer = optimizer_named(name);
  REQUIRE(optimizer != nullptr);
  return optimizer->cost(shape, dtype, role);
}

const Value& named(const Value& map, const std::string& key) {
  const Value* found = map.find(key);
  REQUIRE(found != nullptr);
  return *found;
}

}  // namespace

TEST_CASE("states of whole models are those torch.optim allocates", "[memory]") {
  const Value configs = read_json(reference_text("optimizer_configs.json"), "optimizer_configs.json");
  const auto compare = [&](const Row& row, Comparison& comparison) {
    const ModelSource model = model_from(named(configs, row.text("config")));
    const std::vector<GivenOption> options{
        {"batch", "1"}, {"seq", "16"}, {"precision", row.text("precision")}, {"optimizer", row.text("optimizer")}};
    const Report report = estimated(model, options);
    comparison.equal("parameters", report.parameters.total);
    comparison.equal("states", report.memory.optimizer_states.value());
    Bytes counters;
    for (const Parameter& p : model.model->parameters.all())
      counters += cost(row.text("optimizer"), p.shape).counters * model.model->parameters.instances(p);
    comparison.equal("step_counters", counters.value());
  };
  check_table({"optimizer_states.tsv", {"config", "precision", "optimizer"}, compare, 34});
}

TEST_CASE("a fused step has its counters on the device", "[memory]") {
  const Value configs = read_json(reference_text("optimizer_configs.json"), "optimizer_configs.json");
  const ModelSource model = model_from(named(configs, "llama-tiny"));
  const auto states = [&](const char* step) {
    return estimated(model, {{"batch", "1"}, {"seq", "16"}, {"precision", "fp32"}, {"optimizer-step", step}})
        .memory.optimizer_states;
  };
  CHECK(states("fused") - states("foreach") == Bytes(120));  // 30 tensors x 4 B
}

TEST_CASE("a fused step that torch does not have is refused", "[memory]") {
  const Value configs = read_json(reference_text("optimizer_configs.json"), "optimizer_configs.json");
  const ModelSource model = model_from(named(configs, "llama-tiny"));
  CHECK_THROWS_AS(estimated(model, {{"optimizer", "rmsprop"}, {"optimizer-step", "fused"}}), Error);
}

// Measured on a 512 x 512 tensor alone and on 2, 4 and 8 of them, with a dispatch mode that watches storages
// (torch 2.15), in multiples of the tensor.
TEST_CASE("temporaries of a step are those alive in torch's step functions", "[memory]") {
  struct Expected {
    const char* name;
    Count foreach_all, single, left, read, written;
  };
  const Expected all[] = {{"sgd", 0, 0, 0, 2, 1},
                          {"sgd-momentum", 0, 0, 0, 5, 3},
                          {"sgd-nesterov", 0, 1, 0, 7, 4},
                          {"adam", 1, 2, 1, 11, 7},
                          {"adamw", 1, 2, 1, 12, 8},
                          {"adamw-amsgrad", 1, 2, 1, 14, 9},
                          {"nadam", 1, 2, 1, 14, 8},
                          {"radam", 1, 5, 0, 13, 9},
                          {"adamax", 1, 1, 0, 10, 6},
                          {"adagrad", 2, 1, 1, 8, 5},
                          {"adadelta", 2, 2, 1, 16, 11},
                          {"rmsprop", 1, 1, 1, 8, 5},
                          {"rmsprop-momentum", 1, 1, 1, 11, 7},
                          {"rmsprop-centered", 1, 1, 1, 12, 7},
                          {"asgd", 1, 0, 0, 8, 4}};
  const Bytes p(512 * 512 * 4);
  for (const Expected& e : all) {
    INFO(e.name);
    const OptimizerCost c = cost(e.name, {512, 512});
    CHECK(c.foreach_temporaries == p * e.foreach_all);
    CHECK(c.single_temporaries == p * e.single);
    CHECK(c.single_left == p * e.left);
    CHECK(c.foreach_read == p * e.read);
    CHECK(c.foreach_written == p * e.written);
  }
}

TEST_CASE("adafactor factors the last two axes", "[memory]") {
  // optim.json of torch: row means (8, 4, 3, 1), column means (8, 4, 1, 3).
  CHECK(cost("adafactor", {8, 4, 3, 3}).states == Bytes((8 * 4 * 3 + 8 * 4 * 3) * 4));
  CHECK(cost("adafactor", {256, 384}).states == Bytes((256 + 384) * 4));
  CHECK(cost("adafactor", {500}).states == Bytes(500 * 4));
}

TEST_CASE("muon steps the layers' matrices, AdamW the rest", "[memory]") {
  CHECK(cost("muon", {256, 384}).states == Bytes(256 * 384 * 4));
  CHECK(cost("muon", {256, 384}, DType::float32, Role::embedding).states == Bytes(256 * 384 * 8));
  CHECK(cost("muon", {500}).states == Bytes(500 * 8));
  // Update, bfloat16 iterate and successor, two squares: measured 3 and 5 times a square tensor in float32 and
  // bfloat16.
  CHECK(cost("muon", {512, 512}).single_temporaries == Bytes(3 * 512 * 512 * 4));
  CHECK(cost("muon", {512, 512}, DType::bfloat16).single_temporaries == Bytes(5 * 512 * 512 * 2));
}

TEST_CASE("8-bit states: a byte a moment, a maximum a block, small tensors in float32", "[memory]") {
  CHECK(cost("adamw-8bit", {4095}).states == Bytes(4095 * 8));
  // 4096 elements: 2 x 4096 B and 2 x 16 blocks of 256 with a float32 maximum each.
  CHECK(cost("adamw-8bit", {4096}).states == Bytes(2 * 4096 + 2 * 16 * 4));
  CHECK(cost("adamw-8bit", {4097}).states == Bytes(2 * 4097 + 2 * 17 * 4));
  CHECK(cost("paged-adamw-8bit", {99999}).states == cost("adamw-8bit", {99999}).states);
  CHECK(cost("paged-adamw-8bit", {100000}).states == Bytes(2 * 391 * 4));  // 390.6 blocks
  CHECK(cost("lion", {500}).states == Bytes(500 * 4));
}

TEST_CASE("states fit and a foreach step does not", "[memory]") {
  // Llama-2-7B, all in bfloat16: 8 bytes a parameter for weights, gradients and two moments, 53.9 GB (read off in
  // meta-pytorch/torchtune #389); a foreach step adds one more tensor of every parameter.
  const ModelSource llama = model_from_json(R"({"model_type": "llama", "hidden_size": 4096, "intermediate_size": 11008,
    "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 32, "vocab_size": 32000,
    "tie_word_embeddings": false})");
  constexpr Count parameters = 6738415616;
  Device device;
  device.name = "60 GiB";
  device.peak["bf16"] = FlopsPerSecond(312e12);
  device.memory_capacity = Bytes(Count{60} << 30);
  const auto report = [&](const char* step) {
    return estimated(llama, {{"batch", "1"}, {"seq", "256"}, {"precision", "bf16"}, {"optimizer-step", step}}, &device);
  };
  const Report foreach_step = report("foreach");
  CHECK(foreach_step.memory.peak_phase == Phase::optimizer);
  CHECK(foreach_step.fit->verdict == Verdict::no);
  REQUIRE_FALSE(foreach_step.fit->advice.empty());
  CHECK(foreach_step.fit->advice.front().change == "--optimizer-step fused");
  CHECK(foreach_step.fit->advice.front().verdict != Verdict::no);
  const auto step_peak = [](const Report& r) { return r.memory.phases.back().peak; };
  // 256 token ids of 8 B; inverse frequencies of 64 pairs of a head's elements in float32, which transformers holds
  // twice. A fused step has its counters on the device: 4 B for each of 32 x 9 + 3 tensors.
  const Bytes rest(256 * 8 + 2 * 64 * 4);
  CHECK(step_peak(report("fused")) == Bytes(8 * parameters + 291 * 4) + rest);
  CHECK(step_peak(foreach_step) == Bytes(10 * parameters) + rest);
  CHECK(report("fused").fit->verdict != Verdict::no);
}

TEST_CASE("a step in the backward pass keeps one gradient at a time", "[memory]") {
  const Value configs = read_json(reference_text("optimizer_configs.json"), "optimizer_configs.json");
  const ModelSource model = model_from(named(configs, "llama-tiny"));
  const auto report = [&](const char* step, const char* optimizer, std::vector<GivenOption> more = {}) {
    more.insert(
        more.end(),
        {{"batch", "1"}, {"seq", "8"}, {"precision", "fp32"}, {"optimizer", optimizer}, {"optimizer-step", step}});
    return estimated(model, more);
  };
  // Few tokens: the peak is the gradients, or the largest one with the temporaries of its own step.
  const Report all = report("single", "sgd"), one = report("in-backward", "sgd");
  CHECK(one.memory.peak < all.memory.peak);
  Bytes largest;
  for (const Parameter& p : model.model->parameters.all())
    largest = std::max(largest, size_of(DType::float32) * llmcalc::elements(p.shape));
  CHECK(one.memory.gradients == largest);
  CHECK(one.memory.optimizer_states == all.memory.optimizer_states);
  // AdamW's step of the largest tensor takes two more of its size.
  CHECK(report("in-backward", "adamw").memory.peak >=
        report("in-backward", "adamw").memory.optimizer_states + one.memory.parameters + largest * 3);
  CHECK_THROWS_AS(report("in-backward", "adamw", {{"accumulate", "2"}}), Error);
  CHECK_THROWS_AS(estimated(model, {{"precision", "bf16-master-fp32-grads"}, {"optimizer-step", "in-backward"}}),
                  Error);
}

TEST_CASE("paged states are not the device's", "[memory]") {
  // bitsandbytes: two float32 moments, paged from 100,000 elements on.
  CHECK(cost("paged-adamw", {1000, 100}, DType::bfloat16).states == Bytes(0));
  CHECK(cost("paged-adamw", {1000, 100}, DType::bfloat16).paged == Bytes(800000));
  CHECK(cost("paged-adamw", {999, 100}, DType::bfloat16).states == Bytes(799200));
}

TEST_CASE("optimizers of one kernel a tensor need no temporaries, however the step is asked for", "[memory]") {
  // bitsandbytes' steps (optimizer_update_8bit_blockwise, optimizer_update_32bit) and Lion's work in place.
  const ModelSource model = model_from_json(
      R"({"model_type": "gpt2", "n_embd": 64, "n_layer": 1, "n_head": 2, "vocab_size": 512, "n_positions": 16})");
  for (const char* name : {"lion", "adamw-8bit", "paged-adamw", "paged-adamw-8bit"}) {
    INFO(name);
    StepPlan plan;
    plan.precision = precision_named("fp32");
    plan.optimizer = optimizer_named(name);
    plan.optimizer_step = OptimizerStep::foreach_;
    CHECK(optimizer_temporaries(*model.model, plan) == Bytes(0));
  }
}
