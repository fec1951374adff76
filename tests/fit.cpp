// Does it fit, how far could it grow, and what helps.
#include "core/fit.hpp"

#include <algorithm>
#include <sstream>

#include "core/passes/memory.hpp"
#include "core/passes/step_costs.hpp"
#include "core/resolve.hpp"
#include "tests/catch.hpp"
#include "tests/support/estimates.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

Device device_of(double gib) {
  Device device;
  device.name = "a device";
  device.compute_capability = 9.0;
  device.peak["bf16"] = FlopsPerSecond(989e12);
  device.memory_capacity = Bytes(static_cast<Count>(gib * static_cast<double>(Count{1} << 30)));
  device.memory_bandwidth = BytesPerSecond(3.35e12);
  return device;
}

// TinyLlama 1.1B.
const ModelSource& small_llama() {
  static const ModelSource model =
      model_from_json(R"({"model_type": "llama", "hidden_size": 2048, "intermediate_size": 5632,
    "num_hidden_layers": 22, "num_attention_heads": 32, "num_key_value_heads": 4, "vocab_size": 32000,
    "max_position_embeddings": 2048, "tie_word_embeddings": false})");
  return model;
}

bool names(const std::vector<GivenOption>& options, const std::string& name) {
  return std::any_of(options.begin(), options.end(), [&](const GivenOption& o) { return o.name == name; });
}

FitReport fit(double gib, std::vector<GivenOption> options) {
  const Device device = device_of(gib);
  if (!names(options, "attention")) options.push_back({"attention", "flash"});
  return estimated(small_llama(), options, &device).fit.value();
}

// "--batch 2 --accumulate 3" as the command line gives it. Twice the same option would be a contradiction.
std::vector<GivenOption> options_in(const std::string& change) {
  std::vector<GivenOption> options;
  std::istringstream words(change);
  for (std::string name, value; words >> name >> value;) {
    REQUIRE(name.rfind("--", 0) == 0);
    REQUIRE_FALSE(names(options, name.substr(2)));
    options.push_back({name.substr(2), value});
  }
  return options;
}

// Sequences an optimizer step sees.
Count sequences_in(const std::vector<GivenOption>& options) {
  Count product = 1;
  for (const GivenOption& option : options)
    if (option.name == "batch" || option.name == "accumulate") product *= std::stoll(option.value);
  return product;
}

const std::vector<GivenOption> usual{{"batch", "4"}, {"seq", "2048"}, {"precision", "bf16"}};

}  // namespace

TEST_CASE("verdicts follow the memory there is", "[memory]") {
  CHECK(fit(80, usual).verdict == Verdict::fits);
  CHECK(fit(4, usual).verdict == Verdict::no);
  CHECK(fit(4, usual).headroom < 0);
}

TEST_CASE("when the states alone are too large, no batch size helps", "[memory]") {
  // 1.1e9 parameters at 8 B: 8.2 GiB.
  const FitReport report = fit(6, {{"batch", "1"}, {"seq", "128"}, {"precision", "bf16"}});
  CHECK(report.verdict == Verdict::no);
  CHECK(report.max_batch == 0);
  CHECK(report.note.find("no batch size helps") != std::string::npos);
}

TEST_CASE("each change says what it saves, and the job changed so has the verdict it says", "[memory]") {
  struct Tried {
    double gib;
    std::vector<GivenOption> options;
  };
  const std::vector<Tried> jobs{
      {20, usual},
      {10, usual},
      {24, {{"batch", "9"}, {"seq", "2048"}, {"precision", "amp-bf16"}}},
      {22, {{"batch", "4"}, {"seq", "1024"}, {"precision", "amp-bf16"}, {"attention", "eager"}}},
      {19, {{"batch", "1"}, {"seq", "256"}, {"precision", "amp-bf16"}}},
      {30, {{"batch", "23"}, {"seq", "512"}, {"precision", "amp-bf16"}}},
  };
  for (const Tried& job : jobs) {
    const FitReport report = fit(job.gib, job.options);
    INFO(job.gib << " GiB, batch " << job.options[0].value);
    REQUIRE(report.verdict != Verdict::fits);
    REQUIRE_FALSE(report.advice.empty());
    for (const Advice& advice : report.advice) {
      INFO(advice.change);
      CHECK(advice.saves > Bytes(0));
      CHECK_FALSE(advice.costs.empty());
      std::vector<GivenOption> changed;
      const std::vector<GivenOption> given = options_in(advice.change);
      for (const GivenOption& option : job.options)
        if (!names(given, option.name)) changed.push_back(option);
      changed.insert(changed.end(), given.begin(), given.end());
      CHECK(fit(job.gib, changed).verdict == advice.verdict);
      CHECK(sequences_in(changed) == sequences_in(job.options));
    }
  }
}

TEST_CASE("the largest batch fits and one more does not", "[memory]") {
  const Count most = fit(80, usual).max_batch.value();
  REQUIRE(most >= 1);
  const auto verdict = [](Count batch) {
    return fit(80, {{"batch", std::to_string(batch)}, {"seq", "2048"}, {"precision", "bf16"}}).verdict;
  };
  CHECK(verdict(most) != Verdict::no);
  CHECK(verdict(most + 1) == Verdict::no);
}

TEST_CASE("one trace serves every optimizer: the peaks are those of a trace of its own", "[memory]") {
  const ModelSource& source = small_llama();
  const auto plan = [&](const std::string& optimizer, const std::string& step, const std::string& batch,
                        const std::string& precision) {
    Diagnostics diagnostics;
    const RunOptions run = read_run_options({{"optimizer", optimizer},
                                             {"optimizer-step", step},
                                             {"batch", batch},
                                             {"seq", "256"},
                                             {"precision", precision},
                                             {"attention", "flash"}},
                                            diagnostics);
    diagnostics.throw_if_errors();
    return resolve(run, source, nullptr).plan;
  };
  const StepPlan first = plan("adamw", "foreach", "1", "bf16");
  StepCosts costs(*source.model, first, trace_step(*source.model, first));
  for (const std::string batch : {"1", "16"})
    for (const std::string precision : {"bf16", "amp-bf16"})
      for (const std::string optimizer : {"adamw", "sgd", "adamw-8bit", "adafactor", "adagrad"})
        for (const std::string step : {"foreach", "single", "in-backward"}) {
          const StepPlan other = plan(optimizer, step, batch, precision);
          INFO(batch << " " << precision << " " << optimizer << " " << step);
          CHECK(costs.peak(other) == peak_of(trace_step(*source.model, other).trace.ledger).second);
        }
}

TEST_CASE("the largest that fits is found in few steps, whatever the curve") {
  const Bytes limit(1'000'000);
  const std::pair<std::function<Count(Count)>, Count> curves[] = {
      // What n takes, and the largest n up to 10,000 that stays within the limit, by hand.
      {[](Count) { return 0; }, 10'000},
      {[](Count) { return 1'000'001; }, 0},
      {[](Count n) { return 10 + 100 * n; }, 9'999},
      {[](Count n) { return n * n; }, 1'000},
      {[](Count n) { return n <= 4'097 ? 1 : 1'000'001; }, 4'097},  // a cliff: a window begins to need a mask
      {[](Count n) { return n <= 4'097 ? n : 1'000'001; }, 4'097},
      {[](Count n) { return n / 1'000 * 300'000; }, 3'999},
      {[](Count n) { return 1'000'000 - 1'000'000 / n; }, 10'000},
  };
  for (const auto& [curve, expected] : curves) {
    int calls = 0;
    const auto bytes = [&, &take = curve](Count n) {
      ++calls;
      return Bytes(take(n));
    };
    CHECK(largest_fitting(bytes, limit, 10'000) == expected);
    CHECK(calls < 60);
  }
  int calls = 0;
  const auto cliff = [&](Count n) {
    ++calls;
    return n <= 123'456'789 ? Bytes(1) : limit + Bytes(1);
  };
  CHECK(largest_fitting(cliff, limit, Count{1} << 31) == 123'456'789);
  CHECK(calls < 100);
}
