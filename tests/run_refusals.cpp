// Options that do not fit one another, the model or the device: refused with the option's name.
#include <optional>

#include "core/diagnostics.hpp"
#include "read/yaml.hpp"
#include "tests/catch.hpp"
#include "tests/support/jobs.hpp"
#include "tests/support/refusal.hpp"

using namespace llmcalc;
using Catch::Matchers::ContainsSubstring;
using test::refusal;

namespace {

std::string refused(const std::vector<GivenOption>& options, Exit exit = Exit::bad_input) {
  const auto run = [&] {
    const Device device = built_in_device("h100-sxm");
    resolve(test::options_of(options), test::built_in_model("gpt2"), &device);
  };
  return refusal(run, exit);
}

// A model of which only the size is known.
std::string refused_by_size(const std::string& parameters) {
  return refusal([&] {
    Diagnostics diagnostics;
    const Value root = read_yaml("schema: llmcalc.model/1\nname: x\nsource: test\n" + parameters, "f.yaml");
    read_model(root, "f.yaml", true, "x", std::nullopt, diagnostics);
    diagnostics.throw_if_errors();
  });
}

}  // namespace

TEST_CASE("options of adapters that say too little or too much") {
  CHECK(refused({}) == "accepted");
  CHECK(refused({{"lora", "r=8,targets=all-linear"}}) == "accepted");
  CHECK_THAT(refused({{"lora", "r=8"}, {"qlora", "r=8"}}), ContainsSubstring("--lora and --qlora exclude one another"));
  CHECK_THAT(refused({{"lora", "targets=all-linear"}}), ContainsSubstring("--lora: r, the rank, is missing"));
  CHECK_THAT(refused({{"lora", "r=8,targets="}}), ContainsSubstring("--lora: a target is missing"));
  CHECK_THAT(refused({{"lora", "r=8,alpha=16"}}),
             ContainsSubstring("known are r, targets, dropout and dora, not 'alpha'"));
  CHECK_THAT(refused({{"qlora", "r=8,dropout=1"}}),
             ContainsSubstring("--qlora: dropout must be at least 0 and below 1"));
  CHECK_THAT(refused({{"freeze", "head"}}), ContainsSubstring("this model's head is its embedding"));
  CHECK_THAT(refused({{"freeze", "tail"}}), ContainsSubstring("no parameter of this model is called 'tail'"));
}

TEST_CASE("options that mean nothing together, or nothing at all") {
  CHECK_THAT(refused({{"attention", "flush"}}), ContainsSubstring("--attention: 'flush' is not one of auto"));
  CHECK_THAT(refused({{"loss", "chunked:1000000000"}}), ContainsSubstring("chunks gain nothing"));
  CHECK_THAT(refused({{"loss", "chunked:0"}}), ContainsSubstring("--loss: must be at least 1, not 0"));
  CHECK_THAT(refused({{"mfu", "0"}}), ContainsSubstring("--mfu: must be greater than 0"));
  CHECK_THAT(refused({{"mfu", "140%"}}), ContainsSubstring("'140%' is more than the device can do"));
  const std::pair<const char*, const char*> training[] = {
      {"optimizer", "sgd"}, {"optimizer-step", "fused"}, {"accumulate", "2"}, {"recompute", "full"}, {"loss", "fused"},
      {"tokens", "1B"},     {"freeze", "head"}};
  for (const auto& [name, value] : training) {
    INFO(name);
    CHECK_THAT(refused({{"mode", "infer"}, {name, value}}, Exit::usage),
               ContainsSubstring("--" + std::string(name) + " means nothing with --mode infer"));
  }
}

TEST_CASE("a model that is only a size") {
  CHECK(refused_by_size("parameters: 7B\nactive_parameters: 7B\n") == "accepted");
  CHECK_THAT(refused_by_size("parameters: 7B\nactive_parameters: 8B\n"),
             ContainsSubstring("active_parameters: more active parameters than there are in all"));
  CHECK_THAT(refused_by_size("hidden_size: 8\n"), ContainsSubstring("missing: the model's family"));
  ModelSource size;
  size.parameters = 1'000'000;
  const auto refused_of_size = [&](const GivenOption& option) {
    return refusal([&] { resolve(test::options_of({option}), size, nullptr); });
  };
  CHECK(refused_of_size({"mfu", "40%"}) == "accepted");
  CHECK_THAT(refused_of_size({"mtp", ""}), ContainsSubstring("--mtp needs the model's layers; only its size is known"));
  for (const auto& [name, value] :
       {std::pair{"lora", "r=8"}, std::pair{"dora", "r=8"}, std::pair{"qlora", "r=8"}, std::pair{"freeze", "head"}})
    CHECK_THAT(refused_of_size({name, value}),
               ContainsSubstring("--" + std::string(name) + " needs the model's tensors; only its size is known"));
}

TEST_CASE("sequences that the options contradict, or positions end before") {
  CHECK(refused({{"seq", "1024"}, {"lengths", "512,512"}}) == "accepted");
  CHECK_THAT(refused({{"seq", "1024"}, {"lengths", "512,500"}}),
             ContainsSubstring("--lengths add up to 1012, not to the sequence length 1024"));
  CHECK_THAT(refused({{"seq", "1025"}}), ContainsSubstring("end at 1024") && ContainsSubstring("at most --seq 1024"));
  CHECK(refused({{"seq", "2048"}, {"lengths", "1024,1024"}}) == "accepted");  // positions begin anew
}

TEST_CASE("a precision the device has no peak for, and what it has") {
  const auto on = [](const char* id, const std::vector<GivenOption>& options) {
    const Device device = built_in_device(id);
    return resolve(test::options_of(options), test::built_in_model("gpt2"), &device).run.precision;
  };
  CHECK(on("h100-sxm", {}) == "amp-bf16");
  CHECK(on("t4", {}) == "amp-fp16");
  CHECK(on("h100-sxm", {{"mode", "infer"}}) == "bf16");
  CHECK(on("t4", {{"mode", "infer"}}) == "fp16-master");
  CHECK(on("h100-sxm", {{"implementation", "megatron"}}) == "bf16-master-fp32-grads");
  CHECK_THAT(refusal([&] { on("t4", {{"precision", "bf16"}}); }),
             ContainsSubstring("states no bf16 peak") && ContainsSubstring("--precision amp-fp16 or --precision fp32"));
  Device bare;
  bare.name = "bare";
  const auto of_bare = [&](const char* peak, const std::vector<GivenOption>& options) {
    bare.peak = {{peak, FlopsPerSecond(1e12)}};
    return resolve(test::options_of(options), test::built_in_model("gpt2"), &bare).run.precision;
  };
  CHECK(of_bare("fp32", {}) == "fp32");
  CHECK(of_bare("fp32", {{"mode", "infer"}}) == "fp32");
  CHECK_THAT(refusal([&] { of_bare("int8", {{"precision", "fp32"}}); }),
             ContainsSubstring("its profile states no peak that a recipe here computes with"));
}
