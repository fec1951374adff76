// What a page and JSON say of a checkpoint: on findings made by hand, one of each kind.
#include "report/checkpoint.hpp"

#include <nlohmann/json.hpp>

#include "tests/catch.hpp"
#include "tests/support/runs.hpp"

using namespace llmcalc;
using Catch::Matchers::ContainsSubstring;
using test::flat;

namespace {

const StoredType bf16{"BF16", 1, 16, DType::bfloat16};

FoundTensors found(Finding finding, const char* name, Count tensors, Count bytes) {
  return {finding, name, tensors, {}, Dims{2, 3}, "BF16", Bytes(bytes)};
}

Checkpoint two_files() {
  Checkpoint checkpoint;
  checkpoint.format = "safetensors";
  checkpoint.files = {"model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"};
  checkpoint.on_disk = Bytes(2048);
  checkpoint.tensors = {{"layers.0.w", &bf16, {2, 3}, Bytes(12)}, {"layers.1.w", &bf16, {2, 3}, Bytes(12)}};
  checkpoint.metadata = {{"format", "pt"}};
  checkpoint.notes = {"optimizer.pt was left aside"};
  return checkpoint;
}

// Three tensors counted, one of them there.
CheckpointMatch with_findings() {
  CheckpointMatch match;
  match.counted_tensors = 3;
  match.matched_tensors = 1;
  match.counted_parameters = 18;
  match.stored_parameters = 12;
  match.dtype = DType::bfloat16;
  match.counted_bytes = Bytes(36);
  match.stored_bytes = Bytes(24);
  match.types = {{"BF16", 2, Bytes(18)}, {"F32", 1, Bytes(6)}};
  match.found = {{Finding::missing, "layers.*.up.weight", 2, Dims{4, 5}, {}, "", Bytes()},
                 found(Finding::unexpected, "extra.weight", 1, 12),
                 found(Finding::shape, "layers.*.w", 1, 12),
                 found(Finding::type, "norm.weight", 1, 24),
                 found(Finding::packed, "layers.*.q.qweight", 1, 6),
                 found(Finding::tied_head, "lm_head.weight", 1, 12)};
  for (const char* name : {"a.rotary", "b.rotary", "c.mask", "d.mask"})
    match.found.push_back(found(Finding::buffer, name, 2, 256));
  match.found.push_back(found(Finding::scales, "layers.*.q.scales", 1, 4));
  match.found.push_back(found(Finding::other_part, "vision.patch.weight", 1, 12));
  match.found.push_back(found(Finding::prediction, "mtp.0.weight", 1, 12));
  return match;
}

std::string page(const Checkpoint& checkpoint, const CheckpointMatch& match, bool compared, bool markdown = false) {
  return report::checkpoint_text(checkpoint, match, compared, markdown, false);
}

}  // namespace

TEST_CASE("a checkpoint's page names every kind of finding, and sums up what is rightly not counted") {
  const std::string text = page(two_files(), with_findings(), true), one = flat(text);
  INFO(text);
  CHECK_THAT(one, ContainsSubstring("model-00001-of-00002.safetensors to model-00002-of-00002.safetensors"));
  CHECK_THAT(one, ContainsSubstring("safetensors, 2 files: 2 KiB"));
  CHECK_THAT(one, ContainsSubstring("1 of the 3 counted ones are there with their shape"));
  CHECK_THAT(one, ContainsSubstring("parameters 12 6 fewer than counted"));
  CHECK_THAT(one, ContainsSubstring("bytes 24 36 if every parameter were bfloat16"));
  CHECK_THAT(one, ContainsSubstring("BF16 2 18 B 75.0 %"));
  CHECK_THAT(one, ContainsSubstring("missing layers.*.up.weight 2 (4, 5)"));
  CHECK_THAT(one, ContainsSubstring("other shape layers.*.w 1 (2, 3) BF16 12 B"));
  CHECK_THAT(one, ContainsSubstring("buffer a.rotary and 3 more 8 1 KiB"));  // four names of two tensors, 4 x 256 B
  CHECK(one.find("b.rotary") == std::string::npos);
  // Once each, below the table.
  for (const char* sentence :
       {"missing: counted, and in none of the files.", "unexpected: in the files, and nothing the configuration",
        "other shape: the name is there", "other type: than the one", "packed: quantised (GPTQ",
        "tied head: a copy of the embedding table", "buffer: stored with the parameters, but none.",
        "scales: of quantised weights", "other part: of the model around", "extra layers: for the prediction"}) {
    INFO(sentence);
    const std::size_t first = one.find(sentence);
    CHECK(first != std::string::npos);
    CHECK(one.find(sentence, first + 1) == std::string::npos);
  }
  CHECK_THAT(one, ContainsSubstring("The files do not hold what the configuration describes."));
  CHECK_THAT(one, ContainsSubstring("note: optimizer.pt was left aside."));
  CHECK(one.find("| pt") == std::string::npos);  // of safetensors the key "format" says nothing
}

TEST_CASE("a checkpoint's JSON has every name, and what each has of shape, type and bytes") {
  const auto json = nlohmann::json::parse(report::checkpoint_json(two_files(), with_findings(), true).dump());
  CHECK(json["found"].size() == 13);
  CHECK(json["found"][0] ==
        nlohmann::json(
            {{"finding", "missing"}, {"name", "layers.*.up.weight"}, {"count", 2}, {"counted_shape", {4, 5}}}));
  CHECK(json["found"][1]["stored_shape"] == nlohmann::json({2, 3}));
  CHECK(json["agrees"] == false);
  CHECK(json["compared"] == "names");
  CHECK(json["counted"]["bytes"] == 36);
  CHECK(json["metadata"]["format"] == "pt");
}

TEST_CASE("a checkpoint in Markdown, without a count, of one file, without anything in it") {
  Checkpoint checkpoint = two_files();
  checkpoint.files = {"model.gguf"};
  checkpoint.format = "GGUF";
  checkpoint.metadata = {{"general.name", "a|b"}};
  checkpoint.notes.clear();
  CheckpointMatch match;
  match.types = {{"F32", 0, Bytes()}};  // nothing is stored: no share of it
  match.stored_parameters = 12;
  const std::string text = page(checkpoint, match, false, true), one = flat(text);
  INFO(text);
  CHECK_THAT(text, ContainsSubstring("## model.gguf\n\n```\n"));
  CHECK_THAT(text, ContainsSubstring("a\\|b"));
  CHECK_THAT(one, ContainsSubstring("GGUF, 1 file: 2 KiB"));
  CHECK_THAT(one, ContainsSubstring("parameters 12 elements in all of them"));
  CHECK_THAT(one, ContainsSubstring("0.0 %"));
  CHECK(one.find("configuration") == std::string::npos);
  // GGUF quantises its tensors each in its own way: no one type would do for all.
  CHECK(page(checkpoint, with_findings(), true).find("if every parameter were") == std::string::npos);
  const auto json = nlohmann::json::parse(report::checkpoint_json(checkpoint, match, false).dump());
  for (const char* absent : {"dtype", "counted", "found", "agrees", "notes"}) CHECK(!json.contains(absent));
}

TEST_CASE("a checkpoint's verdict: totals, a piece, the whole") {
  const auto verdict = [](bool by_name, Count stored, bool complete) {
    Checkpoint checkpoint = two_files();
    checkpoint.complete = complete;
    CheckpointMatch match;
    match.by_name = by_name;
    match.counted_parameters = 12;
    match.stored_parameters = stored;
    checkpoint.metadata.clear();
    const auto json = nlohmann::json::parse(report::checkpoint_json(checkpoint, match, true).dump());
    CHECK(!json.contains("metadata"));
    CHECK(!json["counted"].contains("bytes"));  // in which dtype is not known
    CHECK(json["compared"] == (by_name ? "names" : "totals"));
    return flat(page(checkpoint, match, true));
  };
  CHECK_THAT(verdict(false, 12, true), ContainsSubstring("only totals were compared: they agree."));
  CHECK_THAT(verdict(false, 12, true), ContainsSubstring("12 as counted"));
  CHECK_THAT(verdict(false, 14, true), ContainsSubstring("only totals were compared: they differ."));
  CHECK_THAT(verdict(false, 14, true), ContainsSubstring("14 2 more than counted"));
  CHECK_THAT(verdict(false, 14, true), ContainsSubstring("under names of their own"));
  CHECK_THAT(verdict(true, 12, false), ContainsSubstring("What is in this file is what the configuration describes."));
  CHECK_THAT(verdict(true, 12, true), ContainsSubstring("hold what the configuration describes, tensor by tensor."));
}
