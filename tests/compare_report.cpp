// The writers of `compare`, on rows made by hand: what is better, what is unknown, and what is said of either.
#include "report/compare.hpp"

#include <nlohmann/json.hpp>

#include "report/table.hpp"
#include "tests/catch.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/json_runs.hpp"
#include "tests/support/runs.hpp"

using namespace llmcalc;
using Catch::Matchers::ContainsSubstring;
using test::flat;

namespace {

Device device(const char* name, std::optional<double> watts) {
  Device device;
  device.name = name;
  if (watts) device.power = Watts(*watts);
  return device;
}

report::Compared row(const Device& device, double tokens_per_second, double step, double mfu, Verdict verdict,
                     std::optional<double> price) {
  report::Compared row{&device, {}, price};
  row.report.model.name = "Tiny";
  row.report.run.gpus = 2;
  row.report.run.accumulate = 3;
  row.report.run.precision = "bf16";
  FitReport fit;
  fit.verdict = verdict;
  row.report.fit = fit;
  TimeReport time;
  if (step > 0) time.step = Seconds(step);
  time.tokens_per_second = tokens_per_second;
  time.mfu = mfu;
  row.report.time = time;
  return row;
}

struct Rows {
  Device quick = device("Quick", 1000), frugal = device("Frugal", 10), small = device("Small", std::nullopt),
         unknown = device("Unknown", 0), silent = device("Silent", 100);
  std::vector<report::Compared> all;

  // tokens/s, step, MFU: Quick is first in these; Frugal in tokens/J and tokens/$; Small does not hold the job.
  Rows() {
    silent.price_as_of = "2025";
    all = {row(unknown, 0, 0, 0, Verdict::fits, 0.0), row(small, 5000, 0.001, 0.9, Verdict::no, std::nullopt),
           row(frugal, 100, 2, 0.2, Verdict::tight, 0.01), row(quick, 1000, 1, 0.5, Verdict::fits, 10.0),
           row(silent, 0, 0, 0, Verdict::fits, 1.5)};
    all.back().report.fit.reset();
    all.back().report.time.reset();
    all.back().report.scope = {"no time: Silent states no memory bandwidth", "something else"};
  }
};

std::string order(const std::string& by) {
  Rows rows;
  report::sort_compared(rows.all, by);
  std::string names;
  for (const report::Compared& one : rows.all) names += one.device->name.substr(0, 1);
  return names;
}

}  // namespace

TEST_CASE("compare: the best first by every measure, what does not fit behind, what is unknown last") {
  CHECK(order("tokens-per-second") == "QFSUS");
  CHECK(order("step") == "QFSUS");
  CHECK(order("mfu") == "QFSUS");
  CHECK(order("tokens-per-dollar") == "FQUSS");  // Small has no price
  CHECK(order("tokens-per-joule") == "FQUSS");   // nor a power limit
}

TEST_CASE("compare: cells of what is not known are empty, keys absent") {
  const Rows rows;
  // 1000 tokens/s · 3600 s / ($10 · 2 devices); 1000 / (1000 W · 2); Frugal: 100 · 3600 / 0.02, 100 / 20.
  CHECK(report::csv_table(report::compare_table(rows.all)) ==
        "device,precision,fits,step,mfu,tokens_per_second,tokens_per_dollar,tokens_per_joule\n"
        "Unknown,bf16,fits,,,,,\n"
        "Small,bf16,no,0.001,0.9,5000,,\n"
        "Frugal,bf16,tight,2,0.2,100,1.8e+07,5\n"
        "Quick,bf16,fits,1,0.5,1000,180000,0.5\n"
        "Silent,bf16,,,,,,\n");
  const auto json = nlohmann::json::parse(report::compare_json(rows.all).dump())["devices"];
  for (const char* absent : {"step", "mfu", "tokens_per_second", "tokens_per_dollar", "tokens_per_joule"})
    for (const std::size_t unknown : {0U, 4U}) CHECK(!json[unknown].contains(absent));
  CHECK(!json[4].contains("fit"));
  CHECK(json[3]["tokens_per_dollar"] == 180000);
  CHECK(report::compare_json({}).dump().find("\"model\"") == std::string::npos);
}

TEST_CASE("compare: the page says the job, the prices and why there is no time") {
  const Rows rows;
  report::Page page = report::compare_page(rows.all);
  report::explain_compare(rows.all, page);
  const std::string text = flat(page.as_text(false));
  INFO(text);
  CHECK_THAT(text, ContainsSubstring("Tiny: one step of 1 x 1 tokens x 3 on 2 devices each"));
  CHECK_THAT(text, ContainsSubstring("Frugal $0.01, Quick $10.00, Silent $1.50 (2025)."));
  CHECK_THAT(text, ContainsSubstring("Silent: no time: Silent states no memory bandwidth"));
  CHECK_THAT(text, ContainsSubstring("Quick: 1,000 · 3,600 / ($10.00 · 2) = 180,000 tokens/$"));
  CHECK(text.find("Silent: 0") == std::string::npos);
  CHECK(report::compare_page({}).as_text(false).empty());
}

TEST_CASE("the reason why there is no time is the reason, whatever else is left out") {
  const test::Folder folder;
  const std::string device = folder.write(
      "no_bandwidth.yaml",
      "schema: llmcalc.device/1\nname: Card\nmemory: {capacity: 80 GB}\npeak: {bf16: 100 TFLOP/s, fp32: 10 TFLOP/s}\n"
      "sources: {peak: invented, memory: invented}\n");
  // Its experts' float32 products are worth a line of their own.
  CHECK_THAT(flat(test::printed({"compare", "mixtral-8x7b", device})),
             ContainsSubstring("Card: no time: Card states no memory bandwidth"));
  test::refuses({"mfu", "mixtral-8x7b", device, "--budget", "100", "--price", "1"}, 3, "no memory bandwidth");
  CHECK_THAT(flat(test::printed({"compare", "gpt2", device, "--mode", "infer"})),
             ContainsSubstring("GPT-2 small: inference of 1 x 1,024 tokens"));
  // Inference has no time, so that no --mfu helps.
  const auto json = test::output_of({"estimate", "one-billion", device, "--mode", "infer"});
  CHECK(!json.contains("time"));
  for (const auto& line : json["scope"]) CHECK(line.get<std::string>().find("--mfu") == std::string::npos);
}
