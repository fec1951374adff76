// The rules of thumb: both directions, wrong input, and the reference page.
#include "core/rules.hpp"

#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "tests/catch.hpp"
#include "tests/support/apply_rule.hpp"
#include "tests/support/refusal.hpp"

using namespace llmcalc;
using Catch::Matchers::ContainsSubstring;
using llmcalc::test::applied;
using llmcalc::test::Given;
using llmcalc::test::given;
using llmcalc::test::value;

namespace {

// A value in the unit's base, as it can be typed.
std::string typed(const Number& number, Dimension unit) {
  const std::string digits = to_digits(number);
  if (unit == dim::dollar / dim::second) return to_digits(number * Number(3600)) + "/h";
  if (unit == dim::joule) return digits + "J";
  if (unit == dim::byte || unit == dim::flops_per_second || unit == dim::bytes_per_second || unit == dim::watt ||
      unit == dim::second) {
    return digits + to_string(unit);
  }
  return digits;
}

std::string problem(const std::string& name, const std::string& words) {
  return test::refusal([&] { applied(name, words); });
}

}  // namespace

// A sign that stands for two things in one formula would mislead, and solving would find the wrong one.
TEST_CASE("signs and keys are unique within a rule and those behind it") {
  for (const Rule& rule : rules()) {
    CAPTURE(rule.name);
    std::map<std::string, std::string> key_of_sign;
    std::set<std::string> keys;
    const auto visit = [&](const auto& self, const Rule& inner) -> void {
      for (const RuleSymbol& symbol : inner.symbols) {
        const auto [found, is_new] = key_of_sign.emplace(symbol.sign, symbol.key);
        CAPTURE(symbol.sign, symbol.key);
        CHECK((is_new || found->second == symbol.key));
        keys.insert(symbol.key);
        if (*symbol.from != '\0') self(self, rule_named(symbol.from));
      }
    };
    visit(visit, rule);
    for (const RuleResult& result : rule.results) {
      CAPTURE(result.key);
      CHECK(keys.count(result.key) == 0);
      CHECK(key_of_sign.count(result.sign) == 0);
    }
  }
}

TEST_CASE("each rule solved for each of its symbols gives back what it was computed from") {
  int solved = 0;
  for (const Rule& rule : rules()) {
    const std::string name = rule.name;
    if (name == "squared_error_step") continue;  // a square has two roots
    const RuleAnswer forward = applied(name, rule.example);
    for (const RuleValue& result : forward.values) {
      const std::string formula = result.symbolic.substr(result.symbolic.find('=') + 1);
      for (const RuleInput& unknown : forward.inputs) {
        if (unknown.symbol->kind == SymbolKind::wholes) continue;
        std::string words = result.key + "=" + typed(result.value, result.unit);
        for (const RuleInput& input : forward.inputs) {
          std::string text = &input == &unknown ? "?" : "";
          for (const Number& one : input.values) {
            if (&input != &unknown) text += (text.empty() ? "" : ",") + typed(one, input.symbol->unit);
          }
          words += " " + std::string(input.symbol->key) + "=" + text;
        }
        CAPTURE(name, words, formula);
        RuleAnswer back;
        try {
          back = applied(name, words);
        } catch (const Error& error) {
          // Only where the symbol is not in this formula, is there twice, or is hidden by a rounding or a choice.
          const std::string why = error.what();
          const bool stated =
              why.find("times") != std::string::npos || why.find("does not stand") != std::string::npos ||
              why.find("rounding") != std::string::npos || why.find("not determined") != std::string::npos ||
              why.find("decides a branch") != std::string::npos;
          CAPTURE(why);
          CHECK(stated);
          continue;
        }
        REQUIRE(back.values.size() == 1);
        CHECK(back.solved_for == unknown.symbol->key);
        CHECK(back.values[0].value.as_double() == Approx(unknown.values[0].as_double()).epsilon(1e-9));
        ++solved;
      }
    }
  }
  CHECK(solved > 150);
}

TEST_CASE("time, MFU, devices and tokens from one another") {
  const std::string base = "peak=100TFLOP/s parameters=1B ";
  CHECK(to_digits(applied("training_time", base + "tokens=10B time=1500000s").values[0].value) == "0.4");
  CHECK(to_digits(applied("training_time", base + "mfu=40% time=1500000s").values[0].value) == "10000000000");
  CHECK(to_digits(applied("training_time", base + "tokens=10B mfu=40% time=750000s").values[0].value) == "2");
  const RuleAnswer devices = applied("training_time", base + "tokens=10B mfu=40% time=1day");
  CHECK(devices.solved_for == "devices");
  CHECK(devices.values[0].note == "not a whole number: between 17 and 18");
  const RuleAnswer mfu = applied("training_time", base + "tokens=10B time=1500000s");
  CHECK(mfu.values[0].symbolic == "MFU = 6 · N · D / (t · G · P)");
  CHECK(mfu.values[0].text == "40 %");
  // A budget of $1,000 buys 12 · 10⁹ tokens: 500 h · 3600 s · 4·10¹³ FLOP/s / (6 · 10⁹)
  CHECK(to_digits(applied("cost", base + "mfu=40% usd_per_hour=2 usd=1000").values[0].value) == "12000000000");
}

TEST_CASE("the three forms of an answer") {
  const RuleAnswer answer = applied("training_time", "parameters=1B tokens=10B peak=100TFLOP/s mfu=40%");
  REQUIRE(answer.values.size() == 1);
  CHECK(answer.values[0].symbolic == "t = 6 · N · D / (G · P · MFU)");
  CHECK(answer.values[0].substituted == "6 · 10⁹ parameters · 10¹⁰ tokens / (1 · 100 TFLOP/s · 40 %)");
  CHECK(answer.values[0].text == "1,500,000 s = 17.36 days");
  CHECK(value(applied("tensor_bytes", "shape=8,1024,4096 dtype=bf16"), "bytes").text ==
        "67,108,864 B = 64 MiB = 67.11 MB");
  CHECK(rule_formulas(rule_named("cost")).front() == "cost = t · G · price");
  const Explanation explained =
      explain_rule("6nd", {{"parameters", Count{1'000'000'000}}, {"tokens", Count{10'000'000'000}}});
  CHECK(explained.symbolic == "C = 6 · N · D");
  CHECK(explained.substituted == "6 · 10⁹ parameters · 10¹⁰ tokens");
  CHECK(explained.result == "6·10¹⁹ FLOP");
  CHECK_THAT(explained.source, ContainsSubstring("Kaplan"));
  CHECK_THROWS_AS(explain_rule("6nd", {{"parameters", 1}}), FormulaError);
}

TEST_CASE("a value with the wrong unit is told which is due") {
  CHECK_THAT(problem("ridge", "peak=80GB bandwidth=1TB/s"),
             ContainsSubstring("peak: ") && ContainsSubstring("size in bytes") && ContainsSubstring("FLOP/s"));
  CHECK_THAT(problem("ridge", "peak=100TFLOP/s bandwidth=80GB"), ContainsSubstring("bandwidth takes a bandwidth (B/s"));
  CHECK_THAT(problem("ridge", "peak=1e14 bandwidth=1TB/s"), ContainsSubstring("no unit"));
  CHECK_THAT(problem("6nd", "parameters=1B tokens=10GB"), ContainsSubstring("tokens takes a number of tokens"));
  CHECK_THAT(problem("energy", "time=1day power=700"), ContainsSubstring("power takes a power"));
  CHECK_THAT(problem("energy", "time=700W power=700W"), ContainsSubstring("time takes a time"));
  CHECK_THAT(problem("tensor_bytes", "elements=5 dtype=bf61"), ContainsSubstring("bf16"));
  CHECK_THAT(problem("training_time", "flops=6e19 peak=1TFLOP/s mfu=140%"), ContainsSubstring("100 %"));
  CHECK_THAT(problem("6nd", "parameters=1B tokens=-5"), ContainsSubstring("negative"));
  CHECK_THAT(problem("6nd", "parameters=1.5 tokens=5"), ContainsSubstring("whole"));
  CHECK_THAT(problem("6nd", "parameters=0 tokens=5"), ContainsSubstring("at least 1"));
  CHECK_THAT(problem("6nd", "parameters= tokens=5"), ContainsSubstring("missing"));
}

TEST_CASE("unknown rules and symbols, missing and surplus values") {
  CHECK_THROWS_WITH(rule_named("training_tim"), ContainsSubstring("did you mean training_time"));
  CHECK_NOTHROW(rule_named("6ND"));
  CHECK_NOTHROW(rule_named("training-time"));
  CHECK(to_digits(applied("6nd", "N=1B D=10B").values[0].value) == "60000000000000000000");
  CHECK(applied("training_time", "C=6e19 P=100TFLOP/s t=1500000s").solved_for == "mfu");
  CHECK_THAT(problem("6nd", "parameters=1B token=10B"), ContainsSubstring("did you mean tokens"));
  CHECK_THAT(problem("6nd", ""), ContainsSubstring("parameters: ") && ContainsSubstring("tokens: "));
  CHECK_THAT(problem("6nd", "parameters=1B"), ContainsSubstring("missing: tokens"));
  CHECK_THAT(problem("6nd", "flops=6e19"), ContainsSubstring("too many unknowns"));
  CHECK_THAT(problem("6nd", "parameters=1B tokens=?"), ContainsSubstring("a result has to be given: flops"));
  CHECK_THAT(problem("6nd", "parameters=1B tokens=10B flops=6e19"), ContainsSubstring("nothing is left"));
  CHECK_THAT(problem("6nd", "parameters=1B parameters=2B"), ContainsSubstring("twice"));
  CHECK_THAT(problem("16n", "parameters=1B recipe=adam-fp32"), ContainsSubstring("adamw-fp32"));
  CHECK_THAT(problem("linear_flops", "rows=1 in=2 forward=8 total=24"), ContainsSubstring("one result at a time"));
  CHECK_THAT(problem("micro_batch_weights", "sizes=? total=5"), ContainsSubstring("list"));
  // All problems in one go.
  CHECK_THAT(problem("ridge", "peak=1 bandwidth=2"), ContainsSubstring("peak") && ContainsSubstring("bandwidth"));
}

TEST_CASE("results that cannot be are errors, not numbers") {
  CHECK_THAT(problem("mfu", "achieved=140TFLOP/s peak=100TFLOP/s"),
             ContainsSubstring("140 %") && ContainsSubstring("sparse"));
  CHECK_THAT(problem("hfu", "mfu=90%"), ContainsSubstring("120 %"));
  CHECK_THAT(problem("training_time", "flops=6e19 peak=1TFLOP/s time=1s"), ContainsSubstring("above 100 %"));
  CHECK_THAT(problem("16n", "parameters=1B bytes=1GB moments=?"), ContainsSubstring("cannot be negative"));
  CHECK_THAT(problem("transformer_flops", "batch=1e13 seq=1e13 layers=1e13 hidden=1e13 vocab=1"),
             ContainsSubstring("too large"));
  CHECK_THAT(problem("roofline", "peak=100TFLOP/s bandwidth=1TB/s attainable=120TFLOP/s"),
             ContainsSubstring("never above P"));
  CHECK_THAT(problem("roofline", "peak=100TFLOP/s bandwidth=1TB/s attainable=100TFLOP/s"),
             ContainsSubstring("equal at 100 FLOP/B"));
  CHECK_THAT(problem("optimizer_steps", "tokens_per_step=10 steps=3"), ContainsSubstring("rounding"));
}

TEST_CASE("no text as a value does harm") {
  for (const std::string text : {"",
                                 "-",
                                 "?",
                                 "=",
                                 "1e999",
                                 "-1e999",
                                 "nan",
                                 "inf",
                                 "1e-400",
                                 "0x10",
                                 "1,2,,3",
                                 "()",
                                 "(",
                                 "\xff\xfe",
                                 "$",
                                 "%",
                                 "B",
                                 "/h",
                                 "FLOP",
                                 "1 FLOP FLOP",
                                 "99999999999999999999999999999999999999999",
                                 "-170141183460469231731687303715884105728"}) {
    for (const Rule& rule : rules()) {
      for (const RuleSymbol& symbol : rule.symbols) {
        Given values = given(rule.example);
        values.erase(std::remove_if(values.begin(), values.end(), [&](const auto& v) { return v.first == symbol.key; }),
                     values.end());
        values.emplace_back(symbol.key, text);
        CAPTURE(rule.name, symbol.key, text);
        try {
          apply_rule(rule, values);
        } catch (const Error& error) {
          CHECK(error.exit() == Exit::bad_input);
        }
      }
    }
  }
  std::string many = "1";
  for (int i = 0; i < 50'000; ++i) many += ",1";
  CHECK_THAT(problem("elements", "shape=" + many), ContainsSubstring("more than 1000 values"));
}

TEST_CASE("code gets the same numbers") {
  CHECK(to_string(rule_6nd(405'853'388'800, 15'600'000'000'000)) == "37987877191680000000000000");
  CHECK(to_string(rule_2nd(3, 5)) == "30");
  CHECK(to_string(rule_4nd(3, 5)) == "60");
  CHECK(to_string(rule_matmul(2, 4, 3)) == "48");
  CHECK(rule_16n(1'000'000'000).value() == 16'000'000'000);
  CHECK(rule_training_state(1'000'000'000, Bytes(18)).value() == 18'000'000'000);
  CHECK(rule_kv_cache_per_token(32, 8, 128, Bytes(2)).value() == 131'072);
  CHECK(rule_ridge(FlopsPerSecond(1e14), BytesPerSecond(1e12)).value() == Approx(100));
  CHECK(rule_roofline(FlopsPerSecond(1e14), BytesPerSecond(1e12), FlopsPerByte(20)).value() == Approx(2e13));
  CHECK(
      rule_roofline_time(Flops(2'000'000'000'000), Bytes(1'000'000'000'000), FlopsPerSecond(1e14), BytesPerSecond(1e12))
          .value() == Approx(1));
  CHECK(rule_mfu(FlopsPerSecond(4e13), 1, FlopsPerSecond(1e14)) == Approx(0.4));
  CHECK(rule_training_time(rule_6nd(1'000'000'000, 10'000'000'000), 1, FlopsPerSecond(1e14), 0.4).value() ==
        Approx(1.5e6));
  CHECK(rule_cost(Seconds(36'000), 8, DollarsPerHour(2.5)) == Approx(200));
  CHECK_THROWS_AS(rule_16n(Count{1} << 61), Overflow);
}

TEST_CASE("the reference page is the one these rules write") {
  std::ifstream file(LLMCALC_SOURCE_DIR "/docs/reference/rules.md");
  std::stringstream page;
  page << file.rdbuf();
  INFO("write it with: llmcalc rule --format markdown > docs/reference/rules.md");
  CHECK((page.str() == rules_as_markdown()));
}
