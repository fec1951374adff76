// `llmcalc rule` as a whole: its formats, its exit codes, and what it says about wrong input.
#include <fstream>
#include <sstream>

#include "tests/catch.hpp"
#include "tests/support/json_runs.hpp"

using Catch::Matchers::ContainsSubstring;
using llmcalc::test::output_of;
using llmcalc::test::published_schema;
using llmcalc::test::Ran;
using llmcalc::test::run_program;
using llmcalc::test::schema_faults;
using nlohmann::json;

namespace {

json rule_output(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "rule");
  return output_of(std::move(arguments));
}

}  // namespace

TEST_CASE("rule shows the formula, then with numbers, then the result") {
  const Ran ran = run_program({"rule", "training_time", "parameters=1B", "tokens=10B", "peak=100TFLOP/s", "mfu=40%"});
  CHECK(ran.exit == 0);
  CHECK(ran.err.empty());
  CHECK_THAT(ran.out, ContainsSubstring("  t = 6 · N · D / (G · P · MFU)\n"
                                        "    = 6 · 10⁹ parameters · 10¹⁰ tokens / (1 · 100 TFLOP/s · 40 %)\n"
                                        "    = 1,500,000 s = 17.36 days\n"));
  CHECK_THAT(ran.out, ContainsSubstring("devices (assumed)") && ContainsSubstring("Scope:") &&
                          ContainsSubstring("Caution:") && ContainsSubstring("Source:"));
}

TEST_CASE("rule as its schema says, with exact integers") {
  const json schema = published_schema("rule");
  const json flops = rule_output({"6nd", "parameters=1B", "tokens=10B"});
  const json solved = rule_output({"training_time", "parameters=1B", "tokens=10B", "peak=100TFLOP/s", "time=20days"});
  const json weights = rule_output({"micro_batch_weights", "sizes=4,4,2"});
  for (const json& output : {flops, solved, weights}) {
    INFO(output.dump(1));
    CHECK(schema_faults(schema, output) == std::vector<std::string>{});
  }
  CHECK_THAT(run_program({"rule", "6nd", "parameters=1B", "tokens=10B", "--format", "json"}).out,
             ContainsSubstring("\"value\": 60000000000000000000,"));
  CHECK(solved["solved_for"] == "mfu");
  CHECK_FALSE(flops.contains("solved_for"));
  CHECK(weights["values"].size() == 4);
  CHECK(weights["inputs"][0]["values"] == json::array({4, 4, 2}));
}

TEST_CASE("the list of rules, and the reference page as it is in docs") {
  const Ran list = run_program({"rule"});
  CHECK(list.exit == 0);
  CHECK_THAT(list.out, ContainsSubstring("t = C / (G · P · MFU)"));
  std::ifstream file(LLMCALC_SOURCE_DIR "/docs/reference/rules.md");
  std::stringstream page;
  page << file.rdbuf();
  CHECK((run_program({"rule", "--format", "markdown"}).out == page.str()));
  CHECK(json::parse(run_program({"rule", "--format", "json"}).out)["rules"].size() > 40);
}

TEST_CASE("wrong values end with 3 and nothing on stdout") {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"ridge", "peak=80GB", "bandwidth=1TB/s"}, "peak takes a compute rate (FLOP/s, TFLOP/s)"},
      {{"ridge", "peak=100TFLOP/s"}, "missing: bandwidth"},
      {{"ridgee", "peak=100TFLOP/s"}, "did you mean ridge"},
      {{"ridge", "peek=100TFLOP/s"}, "did you mean peak"},
      {{"ridge", "100TFLOP/s"}, "key=value"},
      {{"mfu", "achieved=140TFLOP/s", "peak=100TFLOP/s"}, "140 %"},
      {{"6nd", "parameters=1e30", "tokens=1e30"}, "too large"},
  };
  for (const auto& [arguments, message] : cases) {
    std::vector<std::string> all = arguments;
    all.insert(all.begin(), "rule");
    CAPTURE(all);
    const Ran ran = run_program(all);
    CHECK(ran.exit == 3);
    CHECK(ran.out.empty());
    CHECK_THAT(ran.err, ContainsSubstring(message));
  }
}
