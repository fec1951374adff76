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

TEST_CASE("a job in all its words") {
  Report report = made_up(2);
  report.run.accumulate = 4;
  report.run.lengths = {6, 4};
  report.run.optimizer_step = "fused";
  report.run.attention_why = "no mask";
  report.run.dora = "r=8";
  report.run.qlora = "r=4";
  report.run.freeze = "embedding";
  report.run.mtp = report.run.expandable_segments = true;
  for (int i = 1; i <= 10; ++i) report.model.assumed.push_back("key" + std::to_string(i) + " 0");
  const std::string text = flat(report::estimate_page(report).as_text(false));
  INFO(text);
  // 3 x 10 tokens, 4 times, on 2 devices.
  CHECK_THAT(text, ContainsSubstring("Job: 3 sequences of 10 tokens in 2 documents, 4 micro-batches a step, on each of "
                                     "2 devices = 240 tokens a step; amp-bf16; adamw (fused); attention flash (no "
                                     "mask), counted causal; recompute full; loss plain; dora r=8; qlora r=4; frozen "
                                     "embedding"));
  CHECK_THAT(text, ContainsSubstring("so the defaults: precision and optimizer. Not in the profile, so the library's: "
                                     "key1 0, key2 0, key3 0, key4 0, key5 0, key6 0, key7 0, key8 0 and 2 more"));
  report.run.assumed.clear();
  CHECK_THAT(flat(report::estimate_page(report).as_text(false)), ContainsSubstring(" Not in the profile, so"));
  const std::string json = report::estimate_json(report).dump();
  for (const char* there : {"\"lengths\": [6, 4]", "\"mtp\": true", "\"expandable_segments\": true"})
    CHECK_THAT(json, ContainsSubstring(there));
  report.run = {};
  report.model.assumed.clear();
  CHECK_THAT(flat(report::estimate_page(report).as_text(false)),
             ContainsSubstring("Job: 1 sequence of 1 token Counted"));
}

TEST_CASE("JSON has no peak of a device that states none") {
  Report report = made_up(2);
  report.device->peak = FlopsPerSecond(0);
  CHECK(report::estimate_json(report).dump().find("peak_flops_per_second") == std::string::npos);
  CHECK_THAT(report::estimate_json(made_up(2)).dump(), ContainsSubstring("\"peak_flops_per_second\": 1e+12"));
}

TEST_CASE("tight: it fits once the allocator gives back what it only keeps") {
  Report report = made_up(9);
  report.memory.reserved = Bytes(10 * kGib);
  report.memory.framework = Bytes(kGib);
  report.memory.device_total = Bytes(11 * kGib);  // of 10
  report.fit->verdict = Verdict::tight;
  report.fit->headroom = kGib / 2;
  report.fit->max_batch = 3;
  report.fit->max_seq = 11;
  report.fit->advice = {{"--batch 1", Bytes(kGib), "", Verdict::fits}};
  const report::Page page = report::estimate_page(report);
  const std::string text = flat(page.as_text(false));
  CHECK_THAT(text, ContainsSubstring("would show 11 GiB (11.81 GB): pool 10 GiB, context and workspaces 1 GiB; before "
                                     "that, the allocator gives back what it only keeps"));
  CHECK_THAT(text, ContainsSubstring("TIGHT: it fits by 512 MiB (536.9 MB), less than the estimate is sure of. Largest "
                                     "micro-batch: 3. Longest sequence: 11."));
  CHECK_THAT(text, ContainsSubstring("--batch 1 saves 1 GiB: then it fits"));
  CHECK_THAT(page.as_text(true), ContainsSubstring("\x1b[33mTIGHT"));
  CHECK_THAT(report::estimate_page(made_up(12)).as_text(true), ContainsSubstring("\x1b[31mDOES NOT FIT"));
  // The advice that is enough is among the cheapest; or none is.
  const auto advised = [&](Verdict first, Verdict last) {
    report.fit->advice.assign(5, {"--recompute full", Bytes(kGib), "time", Verdict::tight});
    report.fit->advice.front().verdict = first;
    report.fit->advice.back() = {"--last", Bytes(kGib), "time", last};
    return flat(report::estimate_page(report).as_text(false));
  };
  CHECK(advised(Verdict::fits, Verdict::fits).find("--last") == std::string::npos);
  CHECK(advised(Verdict::tight, Verdict::tight).find("--last") == std::string::npos);
  CHECK_THAT(advised(Verdict::tight, Verdict::fits), ContainsSubstring("--last saves 1 GiB, costs time: then it fits"));
}

TEST_CASE("time, cost, checkpoints and input") {
  Report report = made_up(2);
  TimeReport& time = *report.time;
  time.basis = "measured";
  time.lower_bound_step = Seconds(1);
  time.band = {Seconds(1.5), Seconds(3)};
  time.parts = {{"matrix products", Seconds(1.5)}, {"waiting", Seconds(0.5)}};
  time.kernels = 1;
  report.run.tokens = 1000000;
  time.steps = 16667;
  time.training = Seconds(33334);
  report.cost = CostReport{5000, {}, {}};
  report.checkpoint = CheckpointReport{Bytes(kGib), Seconds(2), BytesPerSecond(1e9)};
  report.input = InputReport{Bytes(1024), Seconds(1), Seconds(3), false};
  const auto page = [&] { return flat(report::estimate_page(report).as_text(false)); };
  CHECK_THAT(page(), ContainsSubstring("2 s (from measured rates; no less than 1 s; likely 1.5 s to 3 s)"));
  CHECK_THAT(page(), ContainsSubstring("Of it matrix products 75.0 % and waiting 25.0 % (1 kernel)"));
  CHECK_THAT(page(), ContainsSubstring("1M tokens take 9.259 h in 16,667 steps; 5,000 device-hours A checkpoint"));
  CHECK_THAT(page(), ContainsSubstring("1 KiB, 3 s from pageable memory: it does not hide"));
  report.cost->usd = 0.5;
  report.cost->energy_kwh = 1.25;
  report.input.reset();
  CHECK_THAT(page(), ContainsSubstring("5,000 device-hours, $0.50, 1.25"));
  CHECK(page().find("pageable") == std::string::npos);
  time.lower_bound_step = Seconds(4);  // an MFU that no roofline allows: a bound above the step says nothing
  time.basis = "mfu";
  CHECK(page().find("no less than") == std::string::npos);
  time.basis = "roofline";
  CHECK_THAT(page(), ContainsSubstring("(from the roofline; likely"));
  // Known by its size: no step, no rates but the MFU.
  report.flops.reset();
  report.size_only = true;
  report.run.tokens = 1;
  time = TimeReport();
  time.mfu = 0.4;
  time.training = Seconds(1);
  report.cost.reset();
  CHECK_THAT(page(), ContainsSubstring("Time MFU 40.0 % of 1 TFLOP/s dense bf16 each 1 token takes 1 s"));
  CHECK(page().find("A checkpoint") == std::string::npos);
  time.mfu = 0;
  time.training.reset();
  CHECK(page().find("TFLOP/s") == std::string::npos);
}

TEST_CASE("inference: what there is without phases, and no training's words") {
  Report report = made_up(2);
  report.run.mode = "infer";
  report.time.reset();
  report.memory.phases = {{Phase::forward,
                           Bytes(10000),
                           {{Part::parameters, Bytes(4000)},
                            {Part::kv_cache, Bytes(3000)},
                            {Part::sequence_states, Bytes(2000)},
                            {Part::buffers, Bytes(900)},
                            {Part::inputs, Bytes(100)}}}};
  report.memory.peak_phase = Phase::forward;
  std::string text = flat(report::estimate_page(report).as_text(false));
  INFO(text);
  CHECK_THAT(text, ContainsSubstring("Tiny 1B (llama, verified): inference on 2 x Card"));
  CHECK_THAT(text, ContainsSubstring("= 60 tokens; amp-bf16; attention flash"));
  CHECK_THAT(text, ContainsSubstring("KV cache 2.930 KiB, recurrent states 1.953 KiB, buffers 900 B and inputs 100 B"));
  CHECK_THAT(text, ContainsSubstring("FLOPs per token 2N: 2 kFLOP"));
  for (const char* training : {"adamw", "recompute", "loss plain", "16N", "a step"})
    CHECK(text.find(training) == std::string::npos);
  report.memory.phases.clear();
  report.memory.kv_cache = Bytes(2048);
  report.memory.sequence_states = Bytes(1024);
  text = flat(report::estimate_page(report).as_text(false));
  CHECK_THAT(text, ContainsSubstring("KV cache 2 KiB (2.048 kB) and recurrent states 1 KiB"));
}

TEST_CASE("sizes in names") {
  const auto said = [](const char* name, bool experts) {
    Report report = made_up(2);
    report.model.name = name;
    report.mixture_of_experts = experts;
    report.parameters.total = 7000000000;
    report.parameters.active = experts ? 1000000000 : report.parameters.total;
    report.parameters.trainable = report.parameters.total;
    const std::vector<report::Cell> row = report::rule_and_exact(report).rows[0];
    return row[1].text + "; " + row[3].text;
  };
  CHECK(said("Model 7B", false) == "7B, the name; counted from the tensors");
  CHECK(said("7.5b model", false) == "7.5B, the name; the name is rounded (-6.7 %)");  // 7 / 7.5
  CHECK(said("v.2 0.7m", false).substr(0, 14) == "0.7M, the name");
  CHECK(said("Model 8x7B", false) == "-; counted from the tensors");           // a product
  CHECK(said("Model 7Bit 7K 1..2B", false) == "-; counted from the tensors");  // another word, unit, no number
  CHECK(said("Model 7B 1B", false) == "7B, the name; counted from the tensors");
  CHECK_THAT(said("1B-7B", true), ContainsSubstring("active per token (the name: 1B)"));
  CHECK_THAT(said("7B-A1.1B", true), ContainsSubstring("active per token (the name: 1.1B, -9.1 %)"));
  CHECK(said("alpha7B", true).find("the name:") == std::string::npos);
}

TEST_CASE("reasons of FLOPs: none where they agree, and conventions of their own") {
  Report report = made_up(2);
  report.parameters.compute = 1000;
  report.flops->attention = Flops();
  report.flops->model_per_token = 6000;
  CHECK(report::rule_and_exact(report).rows[1][3].text == "they agree");
  report.run.attention_flops = report.flops->convention = "palm";  // does not say what of it is attention
  report.flops->model_per_token = 6600;
  CHECK(report::rule_and_exact(report).rows[1][3].text == "attention between 10 tokens (+10.0 %, palm)");
  report.rule_bytes_per_parameter.reset();
  CHECK(report::rule_and_exact(report).rows[3][3].text.find("per parameter") == std::string::npos);
  CHECK(report::format_each(16) == "16");
  CHECK(report::format_each(2.25) == "2.250");
}
