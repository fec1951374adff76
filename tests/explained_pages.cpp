// Pages of unusual jobs, and what --explain adds: the formulas with the values put in, worked out by hand.
#include "tests/catch.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/json_runs.hpp"
#include "tests/support/runs.hpp"

using Catch::Matchers::ContainsSubstring;
using llmcalc::test::flat;
using llmcalc::test::Folder;
using llmcalc::test::output_of;
using llmcalc::test::printed;
using llmcalc::test::Words;

namespace {

constexpr auto npos = std::string::npos;

std::string explained(Words arguments) {
  arguments.push_back("--explain");
  return flat(printed(arguments));
}

std::string card(const Folder& folder, const std::string& more) {
  return folder.write("card.yaml",
                      "schema: llmcalc.device/1\nname: Card\npeak: {bf16: 100 TFLOP/s, fp32: 10 TFLOP/s}\n"
                      "memory: {capacity: 80 GB" +
                          more + "}\nsources: {peak: invented, memory: invented}\n");
}

}  // namespace

TEST_CASE("explained: a model known by its size alone") {
  // 6 · 10^9 · 10^10 / (10^14 · 0.4) = 1.5e6 s = 416.7 h, at $2.
  const std::string text = explained({"estimate", "one-billion", "hypothetical", "--precision", "fp32", "--tokens",
                                      "10B", "--mfu", "40%", "--price", "2"});
  CHECK_THAT(text, ContainsSubstring("6·10¹⁹ FLOP / (1 · 100 TFLOP/s · 40 %) = 1,500,000 s = 17.36 days"));
  CHECK_THAT(text, ContainsSubstring("1,500,000 s · 1 · $2/h = $833.33"));
  CHECK_THAT(text, ContainsSubstring("fp32 with adamw keeps 16 B per parameter"));
  CHECK(text.find("kept for the backward pass") == npos);
  CHECK(text.find("exact: the sum") == npos);
  const std::string shapes = explained({"estimate", "one-billion", "--optimizer", "adafactor"});
  CHECK_THAT(shapes, ContainsSubstring("adafactor keeps states that depend on the tensors' shapes"));
  CHECK(shapes.find("Time and cost, explained") == npos);
}

TEST_CASE("explained: inference counts two FLOPs a parameter, of a mixture of experts the active ones") {
  // 2 · 12,879,925,248 · 4096 tokens.
  const std::string text = explained({"estimate", "mixtral-8x7b", "h100-sxm", "--mode", "infer", "--seq", "4096"});
  CHECK_THAT(text, ContainsSubstring("12,879,925,248 parameters · 4,096 tokens = 105,512,347,631,616 FLOP"));
  CHECK_THAT(text, ContainsSubstring("FLOPs in all 2ND: 105.5 TFLOP"));
  CHECK(text.find("Memory, explained") == npos);
}

TEST_CASE("explained: a step at an MFU, and all steps of a training run") {
  // 10^9 tokens / 1024 a step, rounded up. No price, so no cost.
  const Folder folder;
  const std::string device = card(folder, ", bandwidth: 1000 GB/s");
  const std::string text = explained({"estimate", "gpt2", device, "--mfu", "20%", "--tokens", "1B"});
  CHECK_THAT(text, ContainsSubstring("FLOP / (1 · 100 TFLOP/s · 20 %) = "));
  CHECK_THAT(text, ContainsSubstring("training: 976,563 steps of "));
  CHECK(text.find("cost:") == npos);
  CHECK(text.find("kWh") == npos);
  const std::string predicted = explained({"estimate", "gpt2", device});
  CHECK_THAT(predicted, ContainsSubstring("one step: the sum over its operations"));
  CHECK_THAT(predicted, ContainsSubstring("(1 · 100 TFLOP/s · 40 %) = "));  // the rule of thumb, at the usual MFU
}

TEST_CASE("explained: a device without bandwidth has neither times nor ridges") {
  const Folder folder;
  const std::string device = card(folder, "");
  CHECK(explained({"estimate", "gpt2", device}).find("Time and cost, explained") == npos);
  CHECK_THAT(explained({"roofline", device}), ContainsSubstring("no ridge: the device states no memory bandwidth"));
  CHECK(output_of({"roofline", device})["ridge"].empty());
  CHECK(printed({"roofline", device, "--format", "csv"}) ==
        "ceiling,rate,flop_per_byte\nbf16 peak,1e+14,\nfp32 peak,1e+13,\n");
}

TEST_CASE("explained: MFU, and plans") {
  // 6 · 10^9 FLOP/token · 5000 token/s = 30 TFLOP/s of 100.
  const std::string mfu =
      explained({"mfu", "one-billion", "hypothetical", "--tokens-per-second", "5000", "--precision", "fp32"});
  CHECK_THAT(mfu, ContainsSubstring("30 TFLOP/s / (1 · 100 TFLOP/s) = 30 %"));
  CHECK(mfu.find("HFU =") == npos);
  CHECK(mfu.find("shares of the step") == npos);
  // Faster than expected: nothing is said of waiting, nor of what filled the step.
  CHECK(explained({"mfu", "gpt2", "h100-sxm", "--step-time", "8ms"}).find("is left for waiting") == npos);
  CHECK_THAT(explained({"mfu", "gpt2", "t4", "--step-time", "1s"}), ContainsSubstring("is left for waiting"));
  // $100 at $2 an hour are 50 h of one card: 5e13 FLOP/s / 6e9 · 180,000 s = 1.5e9 tokens.
  const Words plan = {"mfu", "one-billion", "hypothetical", "--precision", "fp32", "--mfu", "50%"};
  Words budget = plan, deadline = plan;
  budget.insert(budget.end(), {"--tokens", "10B", "--budget", "100", "--price", "2"});
  CHECK_THAT(explained(budget), ContainsSubstring("50.00 h · 3,600 s · 8,333 = 1.5B"));
  // 6e19 / 5e13 = 1.2e6 s = 13.89 days on one card: two in 7 days, 1.2e6 s / 2 each; no price, so no cost.
  deadline.insert(deadline.end(), {"--tokens", "10B", "--deadline", "7"});
  const std::string text = explained(deadline);
  CHECK_THAT(text, ContainsSubstring("2 devices take 6.944 days for 10B tokens"));
  CHECK_THAT(text, ContainsSubstring("6.944 days with 2"));
  CHECK(text.find("That costs") == npos);
  CHECK(!output_of(deadline)["cost"].contains("usd"));
}

TEST_CASE("explained: number formats, by the textbook") {
  // IEEE 754 binary16: bias 15, 10 bits of fraction.
  const std::string text = explained({"dtype", "fp16", "int8", "nf4", "fp8_e8m0", "mxfp4"});
  CHECK_THAT(text, ContainsSubstring("fp16: bias 15; least normal 2^-14 = 6.1035e-05; least subnormal 2^(-14 - 10) = "
                                     "5.9605e-08; epsilon 2^-10 = 0.00097656; digits (10 + 1) · log10 2 = 3.31"));
  CHECK_THAT(text, ContainsSubstring("mxfp4: bits = 4 of the element + 8 of the scale / 32 elements = 4.25"));
  CHECK(text.find("nf4: bias") == npos);
  CHECK(text.find("fp8_e8m0: bias") == npos);
  // Below 2^-24 / 2 nothing is left in fp16; 2^-24 is its least subnormal; 70000 is past its largest, 65504.
  CHECK_THAT(flat(printed({"dtype", "fp16", "--value", "1e-8"})), ContainsSubstring("underflow: too small, becomes 0"));
  CHECK_THAT(flat(printed({"dtype", "fp16", "--value", "6e-8"})), ContainsSubstring("(subnormal: fewer bits)"));
  CHECK_THAT(flat(printed({"dtype", "fp16", "--value", "70000"})), ContainsSubstring("too large, becomes infinity"));
  // Relative to zero there is no error; to what no double holds, none that could be written.
  for (const char* value : {"0", "inf", "1e400", "1e-400"}) {
    INFO(value);
    CHECK(!output_of({"dtype", "fp16", "--value", value})["dtypes"][0]["value"].contains("relative_error"));
  }
}

TEST_CASE("explained: parameters, in Markdown, with heads of multi-token prediction") {
  const std::string text = printed({"params", "gpt2", "--tensors", "--explain", "--format", "markdown"});
  CHECK_THAT(text, ContainsSubstring("## GPT-2 small\n\n```\ntotal "));
  CHECK_THAT(text, ContainsSubstring("| transformer.wpe.weight "));
  CHECK_THAT(text, ContainsSubstring("38,597,376 + 786,432 + 768 + 768 + 12 · 7,087,872 = 124,439,808"));
  CHECK_THAT(text, ContainsSubstring("124,439,808 - 786,432 = 123,653,376"));
  // Zhipu's Air: one layer more, of those with experts.
  CHECK_THAT(flat(printed({"params", "glm-4.5-air-106b", "--mtp"})),
             ContainsSubstring("prediction 2,375,059,456 in the total: heads of multi-token prediction"));
}

TEST_CASE("explained: tensors and products of odd shapes") {
  CHECK_THAT(explained({"tensor", "()"}), ContainsSubstring("rank 0, 1 element, 4 B"));
  CHECK_THAT(explained({"tensor", "()"}), ContainsSubstring("product of the lengths = 1 (no axis) = 1"));
  const std::string views = explained({"tensor", "2,3,4", "x.transpose(0,1).reshape(6,4)[0][1]"});
  CHECK_THAT(views, ContainsSubstring("(i, j, …) lies at offset 0 + i · 4 + j · 12 + … of the same storage"));
  CHECK_THAT(views, ContainsSubstring("reshape(6, 4) copies: a storage of its own, 24 · 4 = 96 B"));
  CHECK_THAT(views, ContainsSubstring("[1] is a view: the element (i, j, …) lies at offset 1 + i · 0 of the same"));
  CHECK_THAT(explained({"einsum", "ij,ij->ij", "3,4", "3,4"}), ContainsSubstring("no axis is summed in a product"));
  CHECK_THAT(explained({"einsum", "ij->ji", "3,4", "--device", "h100-sxm"}),
             ContainsSubstring("NVIDIA H100 SXM5 80GB: nothing to compute."));
  CHECK(!output_of({"einsum", "ij->ji", "3,4", "--device", "h100-sxm"}).contains("bound"));
  CHECK(output_of({"einsum", "ij,ij->ij", "3,4", "3,4"})["flops"]["elementwise"] == 12);
  CHECK_THAT(explained({"reduce", "--op", "sum", "a -> ()", "5"}), ContainsSubstring("1 element · "));
  // Two products whose order does not matter: both ways 2·2·2·2 + 2·2·2·2.
  CHECK(explained({"einsum", "ab,bc,cd->ad", "2,2", "2,2", "2,2"}).find("left to right") == npos);
  Words eleven = {"einsum", "ab,bc,cd,de,ef,fg,gh,hi,ij,jk,kl->al"};  // more than are tried in every order
  eleven.insert(eleven.end(), 11, "2,2");
  CHECK_THAT(explained(eleven), ContainsSubstring("Order (the cheapest product each time)"));
}

TEST_CASE("roofline: one forward pass, micro-batches, a question") {
  CHECK_THAT(flat(printed({"roofline", "gpt2", "h100-sxm", "--mode", "infer"})),
             ContainsSubstring("One forward pass of GPT-2 small: 1 x 1,024 tokens; bf16, attention flash"));
  CHECK_THAT(flat(printed({"roofline", "gpt2", "h100-sxm", "--accumulate", "2"})),
             ContainsSubstring("1 x 1,024 tokens, 2 micro-batches; "));
  const Words question = {"roofline", "--peak", "100TFLOP/s", "--bandwidth", "1TB/s"};
  CHECK(flat(printed(question)) == "ridge: 100 FLOP/B = 100 TFLOP/s / 1 TB/s");
  const auto at = [&](const char* intensity) {
    Words arguments = question;
    arguments.insert(arguments.end(), {"--intensity", intensity});
    return explained(arguments);
  };
  CHECK_THAT(at("200"), ContainsSubstring("bound: compute, the intensity is not below the ridge"));
  CHECK_THAT(at("20"), ContainsSubstring("20 TFLOP/s = min(100 TFLOP/s, 20 FLOP/B x 1 TB/s), 20.0 % of the peak"));
  CHECK(explained(question).find("attainable") == npos);
}

TEST_CASE("explain SIZE: on a page and as JSON") {
  // 3072 · 768 · 2 B = 4.5 MiB, of every one of 12 layers 54 MiB; a sum of two; rounded; too big.
  const std::string weight = flat(printed({"explain", "4.5MiB", "gpt2"}));
  CHECK_THAT(weight, ContainsSubstring("3072) bfloat16: 768 · 3072 · 2 B"));
  CHECK_THAT(flat(printed({"explain", "54MiB", "gpt2"})), ContainsSubstring("12 x 768 · 3072 · 2 B"));
  const std::string sum = flat(printed({"explain", "7864320B", "gpt2"}));  // 3 MiB + 4.5 MiB
  CHECK_THAT(sum, ContainsSubstring(" + "));
  const std::string nothing = flat(printed({"explain", "28GiB", "gpt2", "--seq", "64"}));
  CHECK_THAT(nothing, ContainsSubstring("Nothing of this job is that big. Nearest: - all "));
  CHECK_THAT(nothing, ContainsSubstring(", -9"));
  CHECK(output_of({"explain", "28GiB", "gpt2", "--seq", "64"})["found"] == false);
  const auto json = output_of({"explain", "896MiB", "llama-3-8b", "--seq", "8192"});
  CHECK(json["elsewhere"][0]["options"] == "--batch 4");
  CHECK_THAT(flat(printed({"explain", "896MiB", "llama-3-8b", "--seq", "8192"})),
             ContainsSubstring("With --batch 4: "));
  // Logits of 1001 tokens: 32000 x 1001 x 4 B are 122.2 MiB, for which the allocator asks 124 MiB.
  const Words rounded = {"explain", "124MiB", "llama-2-7b", "--seq", "1001", "--precision", "bf16"};
  CHECK_THAT(flat(printed(rounded)), ContainsSubstring("1001 · 32000 · 4 B: 122.2 MiB (128.1 MB), which the allocator "
                                                       "rounds up to it"));
  CHECK(output_of(rounded)["matches"][0]["rounded_by_allocator"] == true);
  for (const char* size : {"896MiB", "4.5MiB", "54MiB"}) llmcalc::test::holds("explain", {"explain", size, "gpt2"});
}
