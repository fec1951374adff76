// The writers of an estimate, on reports made by hand: what is said, what is absent, and that it fits one screen.
#include <sstream>

#include "core/report.hpp"
#include "core/training.hpp"
#include "report/estimate.hpp"
#include "report/estimate_reasons.hpp"
#include "report/layout.hpp"
#include "tests/catch.hpp"
#include "tests/support/runs.hpp"

using namespace llmcalc;
using Catch::Matchers::ContainsSubstring;
using test::flat;

namespace {

constexpr std::size_t kScreenLines = 45, kScreenColumns = 100;

constexpr Count kGib = Count{1} << 30;

// A model of 1000 parameters, 100 of them in a table, on a device of 10 GiB.
Report made_up(Count peak_gib) {
  Report report;
  report.model.name = "Tiny 1B";
  report.model.source = "tiny.yaml";
  report.model.architecture = "llama";
  report.model.status = "verified";
  report.device = Report::DeviceUsed{"Card", "built-in", "bf16", FlopsPerSecond(1e12), 2};
  report.run.batch = 3;
  report.run.seq = 10;
  report.run.gpus = 2;
  report.run.precision = "amp-bf16";
  report.run.optimizer = "adamw";
  report.run.attention = "flash";
  report.run.attention_flops = "causal";
  report.run.recompute = "full";
  report.run.loss = "plain";
  report.run.assumed = {"precision amp-bf16", "optimizer adamw"};
  report.parameters = {1000, 1000, 900, 100, 0, 100, 1000, false};
  report.rule_6nd_per_token = 6000;
  report.rule_bytes_per_parameter = 16;
  FlopsReport flops;
  flops.convention = "causal";
  flops.model = Flops(60 * 6000);
  flops.hardware = Flops(60 * 8000);
  flops.recompute = Flops(60 * 1800);
  flops.attention = Flops(60 * 600);
  flops.scores_again = Flops(60 * 200);
  flops.attention_is_causal = true;
  flops.forward_per_token = 2000;
  flops.model_per_token = 6000;
  report.flops = flops;
  report.memory.parameters = Bytes(4000);
  report.memory.gradients = Bytes(4000);
  report.memory.optimizer_states = Bytes(8000);
  report.memory.phases = {{Phase::forward, Bytes(kGib), {{Part::saved, Bytes(kGib)}}},
                          {Phase::backward,
                           Bytes(peak_gib * kGib),
                           {{Part::parameters, Bytes(4000)}, {Part::saved, Bytes(peak_gib * kGib - 4000)}}}};
  report.memory.peak = Bytes(peak_gib * kGib);
  report.memory.peak_phase = Phase::backward;
  FitReport fit;
  fit.capacity = Bytes(10 * kGib);
  fit.verdict = peak_gib > 10 ? Verdict::no : Verdict::fits;
  fit.headroom = (10 - peak_gib) * kGib;
  fit.advice = {{"--batch 1", Bytes(kGib), "slower", Verdict::fits}};
  report.fit = fit;
  TimeReport time;
  time.basis = "mfu";
  time.mfu = 0.4;
  time.hfu = 0.5;
  time.step = Seconds(2);
  time.tokens_per_second = 30;
  report.time = time;
  report.scope = {"nothing is left out"};
  return report;
}

void fits_a_screen(const std::string& text) {
  std::istringstream lines(text);
  std::size_t count = 0;
  for (std::string line; std::getline(lines, line); ++count) CHECK(report::display_width(line) <= kScreenColumns);
  CHECK(count <= kScreenLines);
}

}  // namespace

TEST_CASE("tokens of a step count sequences, micro-batches and devices") {
  ResolvedRun run;
  run.batch = 3;
  run.seq = 5;
  run.accumulate = 7;
  run.gpus = 11;
  CHECK(tokens_in_step(run) == 3 * 5 * 7 * 11);
}

TEST_CASE("the page says the job, the gap and the verdict") {
  const std::string text = report::estimate_page(made_up(2)).as_text(false);
  fits_a_screen(text);
  CHECK_THAT(text, ContainsSubstring("Tiny 1B (llama, verified): one training step on 2 x Card"));
  CHECK_THAT(text, ContainsSubstring("3 sequences of 10 tokens, on each of 2 devices = 60 tokens a step"));
  CHECK_THAT(text, ContainsSubstring("precision and optimizer"));
  CHECK_THAT(flat(text), ContainsSubstring("(-10.0 %)"));          // 100 of 1000 parameters are a table
  CHECK_THAT(flat(text), ContainsSubstring("(+10.0 %, causal)"));  // 6000 - 6 · 900 of attention, of 6000
  CHECK_THAT(flat(text), ContainsSubstring("recomputation (+30.0 %)"));
  CHECK_THAT(text, ContainsSubstring("the name counts otherwise (-100.0 %)"));
  CHECK_THAT(text, ContainsSubstring("FITS: 8 GiB"));
  CHECK_THAT(text, ContainsSubstring("MFU 40.0 %, HFU 50.0 % of 1 TFLOP/s dense bf16 each"));
  CHECK_THAT(text, ContainsSubstring("- nothing is left out"));
}

TEST_CASE("what does not fit comes with a change that would help") {
  const std::string text = report::estimate_page(made_up(12)).as_text(false);
  fits_a_screen(text);
  CHECK_THAT(text, ContainsSubstring("DOES NOT FIT: 2 GiB"));
  CHECK_THAT(text, ContainsSubstring("- --batch 1 saves 1 GiB, costs slower: then it fits"));
  CHECK_THAT(text, ContainsSubstring("►|  120.0 %"));
}

TEST_CASE("what no advice helps against is said") {
  Report report = made_up(12);
  report.fit->note = "the states alone are too large";
  CHECK_THAT(report::estimate_page(report).as_text(false), ContainsSubstring("the states alone are too large"));
  CHECK_THAT(report::estimate_json(report).dump(), ContainsSubstring("\"note\": \"the states alone"));
}

TEST_CASE("colour is only there when asked for") {
  CHECK(report::estimate_page(made_up(2)).as_text(false).find('\x1b') == std::string::npos);
  CHECK(report::estimate_page(made_up(2)).as_text(true).find("\x1b[32m") != std::string::npos);
}

TEST_CASE("a name from a file cannot steer the terminal") {
  Report report = made_up(2);
  report.model.name = "evil\x1b[2J";
  CHECK(report::estimate_page(report).as_text(false).find('\x1b') == std::string::npos);
}

TEST_CASE("of much advice the page shows the cheapest that is enough") {
  Report report = made_up(12);
  const auto change = [](const char* name, Verdict verdict) { return Advice{name, Bytes(kGib), "time", verdict}; };
  report.fit->advice = {change("--one 1", Verdict::no), change("--two 2", Verdict::no),
                        change("--three 3", Verdict::no), change("--four 4", Verdict::tight),
                        change("--five 5", Verdict::fits)};
  const std::string text = report::estimate_page(report).as_text(false);
  INFO(text);
  CHECK_THAT(text, ContainsSubstring("--two 2 saves"));
  CHECK(text.find("--three") == std::string::npos);
  CHECK_THAT(text, ContainsSubstring("--four 4 saves 1 GiB, costs time: then it is tight"));
  CHECK(text.find("--five") == std::string::npos);
}

TEST_CASE("JSON leaves out what does not apply") {
  Report report = made_up(2);
  report.device.reset();
  report.fit.reset();
  report.time.reset();
  const std::string json = report::estimate_json(report).dump();
  for (const char* absent :
       {"\"device\"", "\"fit\"", "\"time\"", "\"cost\"", "\"master_weights\"", "\"kv_cache\"", "\"tokens\"", "null"}) {
    INFO(absent);
    CHECK(json.find(absent) == std::string::npos);
  }
  CHECK_THAT(json, ContainsSubstring("\"16n\": 16000"));
  CHECK_THAT(json, ContainsSubstring("\"6nd_per_token\": 6000"));
}

TEST_CASE("a mixture of experts: 6N counts the active parameters, and what all of them would give is told apart") {
  Report report = made_up(2);
  report.mixture_of_experts = true;
  report.parameters.active = 250;  // of 1000
  report.rule_6nd_per_token = 6 * 250;
  const std::string json = report::estimate_json(report).dump();
  CHECK_THAT(json, ContainsSubstring("\"6nd_per_token\": 1500"));
  CHECK_THAT(json, ContainsSubstring("\"6nd_per_token_with_all_experts\": 6000"));
  const std::vector<report::Cell> per_token = report::rule_and_exact(report).rows[1];
  CHECK(per_token[1].text == "6N: 1.5 kFLOP");
  CHECK_THAT(per_token[3].text, ContainsSubstring("would give a wrong 6 kFLOP, 4.00 times it"));
}

TEST_CASE("a model known by its size alone claims no more than that") {
  Report report = made_up(2);
  report.size_only = true;
  report.model.architecture.clear();
  report.flops.reset();
  report.memory.phases.clear();
  report.memory.peak_phase.reset();
  report.fit.reset();
  const std::string json = report::estimate_json(report).dump();
  CHECK(json.find("\"compute\"") == std::string::npos);
  CHECK(json.find("\"forward\"") == std::string::npos);
  const std::string text = report::estimate_page(report).as_text(false);
  fits_a_screen(text);
  CHECK_THAT(text, ContainsSubstring("6N: 6"));
  CHECK_THAT(flat(text), ContainsSubstring("activations are not"));
}
