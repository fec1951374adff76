// `llmcalc estimate` and `mfu` as a reader meets them: one screen, and no sentence that says what is not so.
#include <cstdlib>
#include <sstream>

#include "report/layout.hpp"
#include "tests/catch.hpp"
#include "tests/support/json_runs.hpp"
#include "tests/support/runs.hpp"

using Catch::Matchers::ContainsSubstring;
using llmcalc::test::flat;
using llmcalc::test::output_of;
using llmcalc::test::printed;
using llmcalc::test::refused;
using llmcalc::test::Words;

namespace {

struct Size {
  std::size_t lines = 0, columns = 0;
};

Size size_of(const std::string& text) {
  Size size;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line); ++size.lines)
    size.columns = std::max(size.columns, llmcalc::report::display_width(line));
  return size;
}

}  // namespace

TEST_CASE("the README's own estimate fits one screen") {
  const Size page = size_of(printed({"estimate", "profiles/llama-3-8b.yaml", "hardware/h100-sxm.yaml"}));
  CHECK(page.lines <= 45);
  CHECK(page.columns <= 100);
}

TEST_CASE("a page is as wide as the terminal, between 60 and 100 columns") {
  const auto width = [](const char* columns) {
    REQUIRE(::setenv("COLUMNS", columns, 1) == 0);
    const Size page = size_of(printed({"estimate", "llama-3-8b", "h100-sxm"}));
    REQUIRE(::unsetenv("COLUMNS") == 0);
    return page.columns;
  };
  CHECK(width("80") <= 80);
  CHECK(width("80") > 70);
  CHECK(width("300") <= 100);
  CHECK(width("300") > 90);
  CHECK(width("20") <= 80);  // a table that cannot be narrower
  CHECK(width("none") > 90);
}

TEST_CASE("the size in a name is the whole model's; what is active stands apart") {
  const auto row = [](const char* model) {
    const std::string text = printed({"estimate", model});
    return flat(text.substr(text.find("parameters ")).substr(0, 400));
  };
  CHECK_THAT(row("qwen3-next-80b-a3b"), ContainsSubstring("parameters 80B, the name"));
  CHECK_THAT(row("qwen3-next-80b-a3b"), ContainsSubstring("the name: 3B"));
  CHECK_THAT(row("qwen3-235b-a22b"), ContainsSubstring("parameters 235B, the name"));
  CHECK_THAT(row("granite-3.1-1b-a400m"), ContainsSubstring("the name: 400M"));
  CHECK_THAT(row("qwen1.5-moe-a2.7b"), ContainsSubstring("parameters - "));  // what the whole has is not in it
  CHECK_THAT(row("llama-3-8b"), ContainsSubstring("parameters 8B, the name"));
}

TEST_CASE("a sequence that the model has no positions for is refused; one that goes on by formula is told") {
  // PyTorch 2.15, transformers 5.24, one token more than the table: GPT-2, OPT, BERT, GPT-J and MPT raise, Llama does
  // not.
  for (const char* model : {"gpt2", "bert-base-uncased", "gpt-j-6b", "opt-125m", "mpt-7b"}) {
    const auto most = std::string(model) == "gpt2"                ? "1024"
                      : std::string(model) == "bert-base-uncased" ? "512"
                                                                  : "2048";
    const std::string more = std::to_string(std::atoi(most) + 1);
    CHECK_THAT(refused({"estimate", model, "--seq", more}, 3), ContainsSubstring(std::string("at most --seq ") + most));
    printed({"estimate", model, "--seq", most});
  }
  printed({"estimate", "gpt2", "--seq", "2048", "--lengths", "1024,1024"});  // positions begin anew in each
  CHECK_THAT(flat(printed({"estimate", "llama-3-8b", "--seq", "16384"})),
             ContainsSubstring("longer than the 8,192 tokens the model was made for"));
}

TEST_CASE("the time's rule of thumb does not take the answer for its assumption") {
  // 6 x 8,030,261,248 x 4096 / (989.4e12 x 0.4) = 498.7 ms
  const std::string text = flat(printed({"estimate", "llama-3-8b", "h100-sxm"}));
  CHECK_THAT(text, ContainsSubstring("6ND/40 %: 498.7 ms"));
  CHECK_THAT(text, ContainsSubstring("instead of the usual 40 %"));
}

TEST_CASE("small amounts are not rounded to nothing") {
  const std::string text = flat(printed({"estimate", "gpt2", "h100-sxm", "--tokens", "100"}));
  CHECK(text.find(" 0 device-hours") == std::string::npos);
  CHECK_THAT(text, ContainsSubstring("under $0.01"));
  CHECK_THAT(flat(printed({"estimate", "gpt2", "h100-sxm", "--tokens", "1"})), ContainsSubstring("1 token takes"));
}

TEST_CASE("--explain's step is the sum that is shown") {
  const std::string text = flat(printed({"estimate", "llama-3-8b", "h100-sxm", "--explain"}));
  const auto json = output_of({"estimate", "llama-3-8b", "h100-sxm"});
  CHECK_THAT(text, ContainsSubstring("max(FLOPs / (peak · share reached"));
  CHECK_THAT(text, ContainsSubstring("no less than: the sum of max(FLOPs / peak, bytes / bandwidth) = 526.8 ms"));
  double sum = 0;
  for (const auto& part : json["time"]["parts"]) sum += part.get<double>();
  CHECK(sum == Approx(json["time"]["step"].get<double>()));
  CHECK_THAT(text, ContainsSubstring(json["time"]["rates"].get<std::string>()));  // the sources, in full
}

TEST_CASE("adapters: the frozen weights are no states of what is trained") {
  const auto json = output_of({"estimate", "llama-3.2-1b", "--lora", "r=16"});
  const std::string text = flat(printed({"estimate", "llama-3.2-1b", "--lora", "r=16"}));
  CHECK_THAT(text, ContainsSubstring("trained parameters alone"));
  CHECK(json["memory"]["gradients"].get<double>() < 0.1 * json["memory"]["parameters"].get<double>());
  CHECK_THAT(text, ContainsSubstring("weights 2.3"));  // 1.236B in 16 bits under PEFT: 2.30 GiB, and the adapters
}

TEST_CASE("the implementation is named as what it is") {
  CHECK_THAT(flat(printed({"estimate", "llama-3-8b", "--implementation", "megatron"})),
             ContainsSubstring("as Megatron-LM's layer"));
  CHECK(output_of({"estimate", "llama-3-8b", "--implementation", "fused"})["run"]["implementation_version"] ==
        "Liger-Kernel in transformers 5.24, torch 2.15");
}

TEST_CASE("a device that knows no CUDA is not told about CUDA's memory") {
  const std::string text = flat(printed({"estimate", "llama-3.2-1b", "tpu-v5p"}));
  CHECK_THAT(text, ContainsSubstring("no CUDA device"));
  CHECK(text.find("allocator") == std::string::npos);
}

TEST_CASE("MFU and HFU: what is executed cannot exceed the peak, what is counted can exceed what is executed") {
  CHECK_THAT(refused({"estimate", "llama-3.2-1b", "h100-sxm", "--mfu", "100%"}, 3), ContainsSubstring("at most --mfu"));
  CHECK_THAT(flat(printed({"estimate", "llama-3.2-1b", "h100-sxm", "--attention-flops", "palm"})),
             ContainsSubstring("the MFU is above the HFU: 'palm' counts work that is not executed"));
}

TEST_CASE("mfu: no sparse peak where there is no sparsity, no shares of a step that nobody predicted") {
  CHECK(printed({"mfu", "gpt2", "v100-sxm-32gb", "--tokens-per-second", "10000"}).find("sparse") == std::string::npos);
  CHECK_THAT(printed({"mfu", "gpt2", "a100-sxm-40gb", "--tokens-per-second", "10000"}),
             ContainsSubstring("sparse peak"));
  const Words fast = {"mfu", "mixtral-8x7b", "h100-sxm", "--gpus", "64", "--tokens", "1T", "--days", "30"};
  CHECK_THAT(flat(printed(fast)), ContainsSubstring("cannot be said"));
  CHECK(!output_of(fast).contains("shares"));
}

TEST_CASE("JSON has no zeros for what does not apply, and every price that text has") {
  const nlohmann::json roofline = output_of({"roofline", "gpt2", "h100-sxm"});
  int seen = 0;
  for (const auto& operation : roofline["operations"])
    for (const char* key : {"flops", "intensity", "attainable"})
      if (operation.contains(key)) {
        ++seen;
        CHECK(operation[key].get<double>() > 0);
      }
  CHECK(seen > 0);
  const auto plan = output_of({"mfu", "gpt2", "h100-sxm", "--tokens", "10B", "--deadline", "3"});
  CHECK(plan["cost"]["usd"].get<double>() > 0);
}

TEST_CASE("device-hours are hours, and a number too large for a double is no internal error") {
  CHECK_THAT(printed({"rule", "device_hours", "time=10days", "devices=64"}), ContainsSubstring("15,360 device-hours"));
  for (const char* format : {"text", "csv", "markdown", "json"})
    printed({"dtype", "--value", "1e400", "--format", format});
}
