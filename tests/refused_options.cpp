// What a command line or a profile gets wrong: options without effect are refused, everything wrong is told in one run,
// nothing that only follows from another mistake is told at all.
#include "tests/catch.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/json_runs.hpp"
#include "tests/support/runs.hpp"

using Catch::Matchers::ContainsSubstring;
using llmcalc::test::Folder;
using llmcalc::test::output_of;
using llmcalc::test::printed;
using llmcalc::test::Ran;
using llmcalc::test::refused;
using llmcalc::test::run_program;
using llmcalc::test::Words;

namespace {

std::ptrdiff_t errors_in(const std::string& text) {
  std::ptrdiff_t count = 0;
  for (std::size_t at = 0; (at = text.find("error: ", at)) != std::string::npos; ++at) ++count;
  return count;
}

}  // namespace

TEST_CASE("an option without effect is refused, not ignored") {
  for (const char* option : {"--tokens", "--gpus", "--price"}) {
    CHECK_THAT(refused({"explain", "1MiB", "gpt2", option, "4"}, 2), ContainsSubstring("has no effect"));
    CHECK_THAT(refused({"roofline", "gpt2", "h100-sxm", option, "4"}, 2), ContainsSubstring("llmcalc estimate"));
  }
  refused({"roofline", "gpt2", "h100-sxm", "--require-fit"}, 2);
  for (const char* option : {"--require-fit", "--expandable-segments"}) {
    CHECK_THAT(refused({"mfu", "gpt2", "h100-sxm", "--tokens-per-second", "10000", option}, 2),
               ContainsSubstring("does not ask about memory"));
  }
  refused({"mfu", "gpt2", "h100-sxm", "--tokens-per-second", "10000", "--price", "4"}, 2);
  const std::string inference =
      refused({"estimate", "gpt2", "--mode", "infer", "--mfu", "10%", "--price", "4", "--optimizer", "adamw"}, 2);
  for (const char* option : {"--mfu", "--price", "--optimizer"}) CHECK_THAT(inference, ContainsSubstring(option));
  CHECK_THAT(refused({"estimate", "gpt2", "--kv-dtype", "fp8"}, 2), ContainsSubstring("--mode infer"));
}

TEST_CASE("an option of a job is refused where no model is given") {
  for (const Words& command : {Words{"roofline", "h100-sxm"}, Words{"measure", "--tiny"},
                               Words{"roofline", "--peak", "1TFLOP/s", "--bandwidth", "1TB/s"}}) {
    Words with_batch = command;
    with_batch.insert(with_batch.end(), {"--batch", "3"});
    CHECK_THAT(refused(with_batch, 2), ContainsSubstring("--batch describes a job, and there is no MODEL"));
  }
}

TEST_CASE("--explain adds formulas, or is refused where there are none") {
  for (const Words& command :
       {Words{"params", "gpt2"}, Words{"roofline", "gpt2", "h100-sxm"}, Words{"roofline", "h100-sxm"},
        Words{"mfu", "gpt2", "h100-sxm", "--tokens-per-second", "10000"}, Words{"compare", "gpt2", "h100-sxm", "t4"}}) {
    Words explained = command;
    explained.emplace_back("--explain");
    const std::string plain = printed(command), more = printed(explained);
    CHECK(more.size() > plain.size());
    CHECK(more.rfind(plain, 0) == 0);
    CHECK_THAT(more.substr(plain.size()), ContainsSubstring(" = "));
  }
  refused({"list", "models", "--explain"}, 2);
  refused({"estimate", "gpt2", "--explain", "--format", "json"}, 2);
}

TEST_CASE("a profile's own run for training does not stand in the way of inference") {
  CHECK(output_of({"estimate", "one-billion", "h100-sxm", "--mode", "infer"})["run"]["mode"] == "infer");
}

TEST_CASE("states that are too large alone do not fit, whatever the activations are") {
  // 1e9 parameters x 16 B are 16 GB, and a T4 shows 15.84 GB.
  const Ran ran = run_program({"estimate", "one-billion", "t4", "--require-fit"});
  CHECK(ran.exit == 1);
  CHECK_THAT(ran.out, ContainsSubstring("DOES NOT FIT"));
  refused({"estimate", "one-billion", "h100-sxm", "--require-fit"}, 3);  // nobody knows
}

TEST_CASE("a hint is not what was refused") {
  const std::string text =
      refused({"mfu", "llama-3-8b", "tpu-v5p", "--tokens-per-second", "3000", "--precision", "fp32"}, 3);
  CHECK_THAT(text, ContainsSubstring("hint: --precision amp-bf16"));
}

TEST_CASE("every wrong value of a command line is told in one run") {
  const std::string text = refused({"estimate", "gpt2", "--seq", "0", "--batch", "x", "--precision", "bf17",
                                    "--optimizer", "adamm", "--attention", "flsh"},
                                   3);
  for (const char* option : {"--seq", "--batch", "bf17", "did you mean adam", "did you mean flash?"})
    CHECK_THAT(text, ContainsSubstring(option));
  CHECK(errors_in(text) == 5);
}

TEST_CASE("every wrong value of a profile's run is told, with its line") {
  const Folder folder;
  const std::string profile = folder.write(
      "p.yaml",
      "schema: llmcalc.model/1\nname: X\nparameters: 1e9\nrun: {seq: 0, batch: x, optimzer: adam, precision: bf17}\n");
  const std::string text = refused({"validate", profile}, 3);
  CHECK(errors_in(text) == 4);
  for (const char* place : {":4:12: error: ", ":4:22: error: ", ":4:25: error: ", ":4:52: error: "})
    CHECK_THAT(text, ContainsSubstring(place));
}

TEST_CASE("what follows from a missing key is not told as a mistake of its own") {
  const Folder folder;
  const std::string profile =
      folder.write("p.yaml",
                   "schema: llmcalc.model/1\nname: X\narchitecture: llama\nhiden_size: 64\nnum_hidden_layers: 2\n"
                   "num_attention_heads: 4\nvocab_size: 100\nintermediate_size: 128\nsource: made up\n");
  const std::string text = refused({"estimate", profile}, 3);
  CHECK(errors_in(text) == 2);  // the key that is missing, and the one that was meant
  CHECK_THAT(text, ContainsSubstring("did you mean hidden_size?"));
}

TEST_CASE("a device's problems are all told, with their lines, sources or not") {
  const Folder folder;
  const std::string profile =
      folder.write("p.yaml",
                   "schema: llmcalc.device/1\nname: X\nunits: {count: 132, clock: 1830 MHz, rate_class: GH100}\n"
                   "memory: {capacity: 80 GiB, visible: 90 GiB, bandwidth: 3 TB/s}\npeak: {bf16: 500 TFLOP/s}\n");
  const std::string text = refused({"validate", profile}, 3);
  CHECK_THAT(text, ContainsSubstring(":4:37: error: memory.visible: "));
  CHECK_THAT(text, ContainsSubstring(":5:14: error: peak.bf16: "));  // 132 x 1.83 GHz x 4096 are 989 TFLOP/s
  CHECK_THAT(text, ContainsSubstring("nothing says where peak and memory come from"));
}

TEST_CASE("a node's profile is checked, and told apart from a device's") {
  CHECK_THAT(printed({"validate", "hardware/nodes/aws-p5.48xlarge.yaml"}), ContainsSubstring("node"));
  const Folder folder;
  const std::string profile =
      folder.write("p.yaml",
                   "schema: llmcalc.node/1\nname: X\ndevice: h100-sxn\ncount: 0\nlinks: {nvlink: {per_direction: 9}}\n"
                   "sources: {links: made up}\n");
  const std::string text = refused({"validate", profile}, 3);
  CHECK_THAT(text, ContainsSubstring(":3:9: error: device: "));
  CHECK_THAT(text, ContainsSubstring(":4:8: error: count: "));
  CHECK_THAT(text, ContainsSubstring("per_direction"));
  CHECK_THAT(refused({"estimate", "gpt2", "hardware/nodes/aws-p5.48xlarge.yaml"}, 3),
             ContainsSubstring("this is a node; a device is needed here"));
}
