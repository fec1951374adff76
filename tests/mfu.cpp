// MFU of runs that were timed: published ones, the conventions and mistakes around them, plans.
#include "core/utilization.hpp"

#include <functional>
#include <stdexcept>

#include "core/estimate.hpp"

#include "report/compare.hpp"
#include "tests/catch.hpp"
#include "tests/support/jobs.hpp"
#include "tests/support/refusal.hpp"

using namespace llmcalc;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::StartsWith;
using test::built_in_model;
using test::options_of;

namespace {

const OtherAnswer& answer(const UtilizationReport& report, const std::string& name) {
  for (const OtherAnswer& one : report.others)
    if (one.name == name) return one;
  throw std::runtime_error("no answer called " + name);
}

double other(const UtilizationReport& report, const std::string& name) { return answer(report, name).mfu; }

Observed tokens_per_second(double rate) {
  Observed observed;
  observed.tokens_per_second = rate;
  return observed;
}

Observed days(double amount) {
  Observed observed;
  observed.days = amount;
  return observed;
}

std::string hint_of(const Error& error) { return error.diagnostics().front().hint; }

}  // namespace

TEST_CASE("Llama 2 70B: 1,720,320 A100-hours for 2 T tokens") {
  // 35 days on 2048 devices. By hand with 312 TFLOP/s: 6ND 42.8 %, half squares 44.3 %, full squares 46.0 %.
  const UtilizationReport report =
      utilization(built_in_model("llama-2-70b"), built_in_device("a100-sxm-80gb"),
                  options_of({{"tokens", "2T"}, {"gpus", "2048"}, {"seq", "4096"}}), days(35));
  CHECK(report.mfu == Approx(0.443).epsilon(0.002));
  CHECK(other(report, "6nd") == Approx(0.428).epsilon(0.002));
  CHECK(other(report, "full") == Approx(0.460).epsilon(0.002));
  CHECK(other(report, "sparse peak") == Approx(report.mfu / 2));
  CHECK(other(report, "one device") == Approx(report.mfu * 2048));
  CHECK(report.tokens_per_second == Approx(2e12 / (35 * 86400)));
}

TEST_CASE("GPT-3 on 1024 A100: hardware FLOPs taken for model FLOPs") {
  ModelSource gpt3;
  gpt3.name = "GPT-3";
  gpt3.parameters = 175'000'000'000;
  const UtilizationReport report =
      utilization(gpt3, built_in_device("a100-sxm-80gb"),
                  options_of({{"tokens", "300B"}, {"gpus", "1024"}, {"precision", "bf16"}}), days(33.9));
  CHECK(report.mfu == Approx(0.3366).epsilon(0.002));
  CHECK(report.run.attention_flops == "6nd");
}

TEST_CASE("full recomputation: HFU promises fewer days than MFU keeps") {
  const UtilizationReport report =
      utilization(built_in_model("llama-2-70b"), built_in_device("a100-sxm-80gb"),
                  options_of({{"tokens", "2T"}, {"gpus", "2048"}, {"recompute", "full"}}), days(35));
  // A third more at most: the head and each layer's last product (27 % of a layer) are not computed again.
  CHECK(*report.hfu > 1.2 * report.mfu);
  CHECK(*report.hfu < 4.0 / 3 * report.mfu);
  CHECK_THAT(answer(report, "hardware FLOPs (HFU)").why, ContainsSubstring("days instead of 35"));
}

TEST_CASE("a mixture of experts has a second wrong answer") {
  const UtilizationReport report = utilization(built_in_model("mixtral-8x7b"), built_in_device("h100-sxm"),
                                               options_of({{"seq", "4096"}, {"gpus", "8"}}), tokens_per_second(30000));
  // 46.7 B parameters in all, 12.9 B active.
  CHECK(other(report, "6nd of all parameters") / other(report, "6nd") == Approx(46.7 / 12.88).epsilon(0.01));
}

TEST_CASE("where the step went adds up") {
  const ModelSource model = built_in_model("llama-3-8b");
  const Device device = built_in_device("h100-sxm");
  const RunOptions options = options_of({{"seq", "8192"}});
  const UtilizationReport slow = utilization(model, device, options, tokens_per_second(3000));
  double sum = 0, waiting = 0;
  for (const auto& [name, share] : slow.filled) {
    sum += share;
    if (name == "waiting") waiting = share;
  }
  CHECK(sum == Approx(1));
  CHECK(waiting == Approx(1 - slow.expected_step->value() / slow.step->value()));
  CHECK(*slow.expected_mfu * slow.expected_step->value() == Approx(slow.mfu * slow.step->value()));
  // Faster than expected: what filled it is not known.
  const UtilizationReport fast = utilization(model, device, options, tokens_per_second(9000));
  CHECK(*fast.step < *fast.expected_step);
  CHECK(fast.filled.empty());
}

TEST_CASE("more than 100 % is an error with its likely cause") {
  const ModelSource model = built_in_model("llama-3-8b");
  const Device device = built_in_device("h100-sxm");
  try {
    utilization(model, device, options_of({{"seq", "8192"}}), tokens_per_second(60000));  // of eight devices
    FAIL("not refused");
  } catch (const Error& error) {
    CHECK(error.exit() == Exit::bad_input);
    CHECK_THAT(std::string(error.what()), ContainsSubstring("312.1 %"));
    CHECK_THAT(hint_of(error), ContainsSubstring("--gpus 4"));
  }
  CHECK_NOTHROW(utilization(model, device, options_of({{"seq", "8192"}, {"gpus", "8"}}), tokens_per_second(60000)));
}

TEST_CASE("a model known by its size alone: 6 FLOPs a parameter and token") {
  ModelSource mixture;
  mixture.name = "a mixture";
  mixture.parameters = 70'000'000'000;
  mixture.active_parameters = 7'000'000'000;
  const Device device = built_in_device("h100-sxm");
  const UtilizationReport report = utilization(mixture, device, options_of({}), tokens_per_second(1000));
  CHECK(report.mfu == Approx(6 * 7e9 * 1000 / 989.4e12));
  CHECK(other(report, "6nd of all parameters") == Approx(10 * report.mfu));
  CHECK_FALSE(report.hfu.has_value());
  CHECK_FALSE(report.step.has_value());  // how many tokens one has nobody said
  const UtilizationReport reads =
      utilization(mixture, device, options_of({{"mode", "infer"}}), tokens_per_second(1000));
  CHECK(reads.mfu == Approx(report.mfu / 3));
  CHECK(other(reads, "2nd of all parameters") == Approx(10 * reads.mfu));
  Observed step;
  step.step = Seconds(2);
  CHECK(utilization(mixture, device, options_of({{"batch", "4"}, {"seq", "500"}}), step).tokens_per_second == 1000);
  const auto refused = [&](const Observed& observed) {
    return test::refusal([&] { utilization(mixture, device, options_of({}), observed); });
  };
  CHECK_THAT(refused(step), ContainsSubstring("how many tokens a step has is not known\nhint: give --batch and --seq"));
  CHECK_THAT(refused(days(1)), ContainsSubstring("--days: of how many tokens is not known\nhint: give --tokens"));
}

TEST_CASE("the peak with 2:4 sparsity, where a device has one") {
  ModelSource model;
  model.parameters = 1'000'000'000;
  const auto sparse = [&](const Device& device, const char* precision) {
    const UtilizationReport report =
        utilization(model, device, options_of({{"precision", precision}}), tokens_per_second(1000));
    for (const OtherAnswer& one : report.others)
      if (one.name == "sparse peak") return one.mfu / report.mfu;
    return 0.0;
  };
  CHECK(sparse(built_in_device("h100-sxm"), "bf16") == Approx(0.5));
  CHECK(sparse(built_in_device("h100-sxm"), "fp32") == 0);
  CHECK(sparse(built_in_device("mi300x"), "bf16") == Approx(0.5));
  CHECK(sparse(built_in_device("mi250x"), "bf16") == 0);  // CDNA 2: from CDNA 3 on
  CHECK(sparse(built_in_device("t4"), "fp16-master") == 0);
  Device states = built_in_device("t4");
  states.peak["fp16_sparse"] = FlopsPerSecond(states.peak.at("fp16").value() * 4);
  CHECK(sparse(states, "fp16-master") == Approx(0.25));
}

TEST_CASE("rates that cannot be: no cause is made up for them") {
  const ModelSource model = built_in_model("gpt2");
  const Device device = built_in_device("h100-sxm");
  const auto hint = [&](const char* precision, double rate) {
    try {
      utilization(model, device, options_of({{"precision", precision}}), tokens_per_second(rate));
    } catch (const Error& error) {
      return hint_of(error);
    }
    return std::string("accepted");
  };
  // 100,000 tokens/s are 80 TFLOP/s: too much for fp32's peak of 66.9, not for the others.
  CHECK_THAT(hint("fp32", 1e5), ContainsSubstring("--gpus 2") && ContainsSubstring("under the bf16 peak it is 8.1 %") &&
                                    ContainsSubstring("under the tf32 peak"));
  for (const double rate : {1e30, 1e300}) {
    CHECK_THAT(hint("bf16", rate), !ContainsSubstring("--gpus"));
    CHECK_THAT(hint("bf16", rate), StartsWith("the step holds fewer tokens"));
  }
}

TEST_CASE("verdicts on an MFU") {
  CHECK_THAT(mfu_in_words(0.975), ContainsSubstring("hardly possible"));
  CHECK_THAT(mfu_in_words(0.75), ContainsSubstring("very good"));
  CHECK(mfu_in_words(0.5) == "very good: published whole runs reach 28-51 %");
  CHECK(mfu_in_words(0.499) == "good: published whole runs reach 28-51 %");
  CHECK(mfu_in_words(0.28) == "usual: published whole runs reach 28-51 %");
  CHECK(mfu_in_words(0.279) == "low: published whole runs reach 28-51 %");
}

TEST_CASE("plans: the textbook's run, turned round") {
  // 6 x 1e9 x 10e9 / (1e14 x 0.4) = 1.5e6 s = 416.67 hours on one card.
  const ModelSource model = built_in_model("one-billion");
  const Device card = built_in_device("hypothetical");
  const RunOptions run = options_of({{"mfu", "40%"}, {"tokens", "10B"}, {"precision", "fp32"}, {"price", "2"}});
  // The dollars that it costs buy its tokens.
  const PlanReport bought = tokens_for_budget(model, card, run, 2 * 1.5e6 / 3600);
  CHECK(*bought.tokens == Approx(10e9));
  CHECK(*bought.days == Approx(17.361).epsilon(1e-4));
  // 17.36 days of work in two days: nine cards.
  const PlanReport soon = devices_for_deadline(model, card, run, 2);
  CHECK(*soon.devices == 9);
  CHECK(*soon.days == Approx(17.361 / 9).epsilon(1e-4));
  const auto refused = [&](const std::function<void()>& plan) { return test::refusal(plan); };
  const RunOptions no_price = options_of({{"mfu", "40%"}, {"tokens", "10B"}, {"precision", "fp32"}});
  CHECK_THAT(refused([&] { tokens_for_budget(model, card, no_price, 100); }),
             ContainsSubstring("has no price\nhint: give --price"));
  CHECK_THAT(refused([&] { tokens_for_budget(model, card, run, 1e308); }),
             ContainsSubstring("buys more tokens than can be counted"));
  ModelSource size;
  size.name = "a size";
  size.parameters = 1'000'000'000;
  CHECK(*devices_for_deadline(size, card, run, 2).devices == 9);
  CHECK_THAT(refused([&] { devices_for_deadline(size, card, run, 1e-300); }),
             ContainsSubstring("--deadline: no number of devices meets that"));
  CHECK_THAT(refused([&] { devices_for_deadline(size, card, options_of({{"mfu", "40%"}}), 2); }),
             ContainsSubstring("--deadline: of how many tokens is not known"));
  CHECK_THAT(
      refused([&] { devices_for_deadline(size, card, options_of({{"tokens", "10B"}, {"precision", "fp32"}}), 2); }),
      ContainsSubstring("no time: give --mfu"));
  CHECK_THAT(refused([&] { tokens_for_budget(size, card, options_of({{"mode", "infer"}, {"precision", "fp32"}}), 2); }),
             ContainsSubstring("--budget and --deadline plan a training run"));
}

TEST_CASE("plans: as many devices as the deadline needs, and no more") {
  const ModelSource model = built_in_model("gpt2");
  const Device device = built_in_device("a100-sxm-40gb");
  const RunOptions run = options_of({{"tokens", "10B"}, {"batch", "8"}});
  const PlanReport plan = devices_for_deadline(model, device, run, 1);
  CHECK(*plan.days <= 1);
  RunOptions fewer = run;
  fewer.gpus = *plan.devices - 1;
  const Report slower = estimate(model, &device, fewer);
  CHECK(slower.time->training->value() > 86400);
  CHECK_THROWS_AS(devices_for_deadline(model, device, run, 1e-9), Error);
  // Time for one step and a half: as many devices as there are steps of 8 x 1024 tokens.
  const RunOptions short_run = options_of({{"tokens", "57344"}, {"batch", "8"}, {"seq", "1024"}});
  const double step = estimate(model, &device, short_run).time->step->value();
  CHECK(*devices_for_deadline(model, device, short_run, 1.5 * step / 86400).devices == 7);
}

TEST_CASE("compare: best first, what does not fit behind, what is not known last") {
  std::vector<Device> devices;
  for (const char* id : {"t4", "hypothetical", "h200", "a100-sxm-80gb"}) devices.push_back(built_in_device(id));
  const ModelSource model = built_in_model("llama-3.2-1b");
  std::vector<report::Compared> rows;
  for (const Device& device : devices) {
    rows.push_back({&device, estimate(model, &device, options_of({{"seq", "2048"}})), {}});
    if (device.price) rows.back().usd_per_hour = device.price->value();
  }
  report::sort_compared(rows, "tokens-per-second");
  CHECK(rows.front().device->id == "h200");
  CHECK(rows.back().device->id == "t4");  // 16 GiB hold neither weights nor states
  CHECK(rows.back().does_not_fit());
  report::sort_compared(rows, "tokens-per-dollar");
  CHECK(rows.front().device->id == "a100-sxm-80gb");
  // tokens/s x 3600 s / $2.79
  CHECK(*rows.front().tokens_per_dollar() == Approx(rows.front().tokens_per_second() * 3600 / 2.79));
  CHECK(*rows.front().tokens_per_joule() == Approx(rows.front().tokens_per_second() / 400));
  CHECK(!rows.back().usd_per_hour);
}
