// Run options from a `run:` map and from the command line: one reading for both.
#include "core/run.hpp"

#include "read/yaml.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;
using Catch::Matchers::ContainsSubstring;

namespace {

std::string complaints(const Diagnostics& diagnostics) {
  std::string all;
  for (const Diagnostic& d : diagnostics.all()) all += to_string(d) + "\n";
  return all;
}

// What is wrong with `--name value`; "" when nothing is.
std::string given(const std::string& name, const std::string& value) {
  Diagnostics diagnostics;
  read_run_options({{name, value}}, diagnostics);
  return complaints(diagnostics);
}

}  // namespace

TEST_CASE("run options: a run map and the same options on the command line give the same") {
  Diagnostics diagnostics;
  const Value map = read_yaml(
      "mode: train\nbatch: 4\nseq: 8192\nlengths: [4096, 4096]\naccumulate: 2\ntokens: 15T\ngpus: 8\nprecision: bf16\n"
      "optimizer: adam\noptimizer_step: fused\nimplementation: megatron\nattention: flash\nrecompute: full\n"
      "loss: chunked:8\ndropout: 0.1\nlora: r=16,targets=q\ndora: r=4\nqlora: r=8\nfreeze: [embedding, "
      "head]\nkv-dtype: fp8\nmtp: "
      "true\nexpandable-segments: true\n"
      "attention-flops: full\nmfu: 40%\nprice: 3.99\nrequire-fit: false\nas: llama\n",
      "f.yaml");
  const std::vector<GivenOption> list = {
      {"mode", "train"},
      {"batch", "4"},
      {"seq", "8192"},
      {"lengths", "4096,4096"},
      {"accumulate", "2"},
      {"tokens", "15T"},
      {"gpus", "8"},
      {"precision", "bf16"},
      {"optimizer", "adam"},
      {"optimizer-step", "fused"},
      {"implementation", "megatron"},
      {"attention", "flash"},
      {"recompute", "full"},
      {"loss", "chunked:8"},
      {"dropout", "10%"},
      {"lora", "r=16,targets=q"},
      {"dora", "r=4"},
      {"qlora", "r=8"},
      {"freeze", "embedding,head"},
      {"kv-dtype", "fp8"},
      {"mtp", ""},
      {"expandable-segments", ""},
      {"attention-flops", "full"},
      {"mfu", "0.4"},
      {"price", "$3.99"},
      {"as", "llama"},
  };
  for (const RunOptions& run : {read_run_options(map, diagnostics), read_run_options(list, diagnostics)}) {
    CHECK(run.mode == "train");
    CHECK(run.batch == 4);
    CHECK(run.seq == 8192);
    CHECK(run.lengths == std::vector<Count>{4096, 4096});
    CHECK(run.accumulate == 2);
    CHECK(run.tokens == 15'000'000'000'000);
    CHECK(run.gpus == 8);
    CHECK(run.precision == "bf16");
    CHECK(run.optimizer == "adam");
    CHECK(run.optimizer_step == "fused");
    CHECK(run.implementation == "megatron");
    CHECK(run.attention == "flash");
    CHECK(run.recompute == "full");
    CHECK(run.loss == "chunked:8");
    CHECK(run.dropout == 0.1);
    CHECK(run.lora == "r=16,targets=q");
    CHECK(run.dora == "r=4");
    CHECK(run.qlora == "r=8");
    CHECK(run.freeze == "embedding,head");
    CHECK(run.kv_dtype == "fp8");
    CHECK(run.mtp);
    CHECK(run.expandable_segments);
    CHECK(run.attention_flops == "full");
    CHECK(run.mfu == 0.4);
    CHECK(run.price == 3.99);
    CHECK_FALSE(run.require_fit);
    CHECK(run.as_family == "llama");
  }
  CHECK(complaints(diagnostics).empty());
  CHECK(run_option_names().size() == map.map.size());
}

TEST_CASE("run options: the command line wins where it says something") {
  RunOptions profile, line;
  profile.seq = 8192;
  profile.batch = 2;
  profile.mtp = true;
  line.batch = 4;
  line.mfu = 0.5;
  const RunOptions both = profile.overridden_by(line);
  CHECK(both.seq == 8192);
  CHECK(both.batch == 4);
  CHECK(both.mfu == 0.5);
  CHECK(both.mtp);
  CHECK_FALSE(both.tokens.has_value());
}

TEST_CASE("run options: wrong values are refused and named") {
  const std::pair<GivenOption, const char*> rows[] = {
      {{"batch", "0"}, "error: --batch: must be at least 1, not 0"},
      {{"batch", "-1"}, "error: --batch: '-1' is negative"},
      {{"batch", "x"}, "error: --batch: 'x' is not a number"},
      {{"batch", "1.5"}, "not a whole number"},
      {{"seq", "99999999999999999999"}, "error: --seq: '99999999999999999999' is too large"},
      {{"seq", ""}, "a number is missing"},
      {{"lengths", "1,0"}, "each must be at least 1"},
      {{"lengths", "1,,2"}, "a number is missing"},
      {{"mfu", "140%"}, "a utilization is at most 100%"},
      {{"mfu", "0"}, "must be greater than 0"},
      {{"mfu", "half"}, "'half' is not a number"},
      {{"dropout", "1"}, "a rate is below 1"},
      {{"dropout", "-0.1"}, "is negative"},
      {{"price", "-3"}, "is negative"},
      {{"price", "free"}, "dollars per device-hour"},
      {{"price", "1e10"}, "is too large"},
      {{"mode", "trian"}, "is not one of train and infer\nhint: did you mean train?"},
      {{"attention", "flsh"}, "did you mean flash?"},
      {{"recompute", "all"}, "is not one of none, selective and full"},
      {{"implementation", "x"}, "is not one of"},
      {{"optimizer-step", "x"}, "is not one of"},
      {{"loss", "chunked:0"}, "must be at least 1"},
      {{"loss", "chunked"}, "for instance chunked:8"},
      {{"precision", ""}, "a value is missing"},
      {{"mtp", "maybe"}, "must be true or false"},
      {{"bach", "1"}, "--bach: unknown run option\nhint: did you mean batch?"},
  };
  for (const auto& [option, message] : rows) {
    INFO(option.name << "=" << option.value);
    CHECK_THAT(given(option.name, option.value), ContainsSubstring(message));
  }
}

TEST_CASE("run options: problems of a run map have their line") {
  Diagnostics diagnostics;
  read_run_options(read_yaml("run:\n  batch: 0\n  sek: 5\n  mode: {a: 1}\n", "f.yaml").map.at(0).value, diagnostics);
  CHECK_THAT(complaints(diagnostics), ContainsSubstring("f.yaml:2:10: error: run.batch: must be at least 1, not 0"));
  CHECK_THAT(complaints(diagnostics),
             ContainsSubstring("f.yaml:3:3: error: run.sek: unknown run option\nhint: did you mean seq?"));
  CHECK_THAT(complaints(diagnostics), ContainsSubstring("f.yaml:4:9: error: run.mode: must be one value"));
  Diagnostics list;
  read_run_options(read_yaml("[1]", "f.yaml"), list);
  CHECK_THAT(complaints(list), ContainsSubstring("must be a map of run options"));
}
