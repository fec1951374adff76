// `llmcalc list`: what is built in, as tables.
#include <map>
#include <nlohmann/json.hpp>

#include "tests/catch.hpp"
#include "tests/support/program.hpp"
#include "tests/support/rows.hpp"

using namespace llmcalc;
using Catch::Matchers::ContainsSubstring;
using nlohmann::json;
using test::Ran;
using test::run_program;

// The counts PyTorch gives for the built-in models.
TEST_CASE("list models: one row each, with what PyTorch counts") {
  const Ran ran = run_program({"list", "models", "--format", "json"});
  REQUIRE(ran.exit == 0);
  const json list = json::parse(ran.out);
  CHECK(list["schema"] == "llmcalc.models/1");
  std::map<std::string, json> by_id;
  for (const json& row : list["models"]) by_id[row["id"]] = row;
  CHECK(by_id.size() == list["models"].size());
  for (const test::Row& row : test::rows("parameters.tsv")) {
    INFO(row.where() << ": " << row.text("model"));
    const auto found = by_id.find(row.text("model"));
    REQUIRE(found != by_id.end());
    CHECK(found->second["parameters"] == row.count("total"));
    CHECK(found->second["active_parameters"] == row.count("active"));
    Count layers = 0;  // "3x583483392,58x11507286272"
    for (const std::string& kind : test::split(row.text("layers"), ';')) layers += std::stoll(kind);
    CHECK(found->second["layers"] == layers);
  }
  const json& llama = by_id["llama-3-8b"];
  CHECK(llama["context"] == 8192);
  CHECK(llama["architecture"] == "llama");
  CHECK(llama["name"] == "Llama 3 8B");
  CHECK(llama["source"].get<std::string>().size() > 3);
  CHECK_FALSE(by_id["mamba-2.8b"].contains("context"));  // a recurrent model has no longest context
  CHECK(by_id["one-billion"]["parameters"] == 1000000000);
  CHECK_FALSE(by_id["one-billion"].contains("layers"));  // known only by its size
}

TEST_CASE("list models: a line each on a page, every column a field of CSV") {
  const Ran page = run_program({"list", "models"}), csv = run_program({"list", "models", "--format", "csv"});
  REQUIRE(page.exit == 0);
  CHECK_THAT(page.out,
             ContainsSubstring("mixtral-8x7b                  46.70B  12.88B      32      32,768  mixtral\n"));
  const std::vector<std::string> lines = test::split(page.out, '\n');
  CHECK(lines.size() >= 100);
  for (const std::string& line : lines) CHECK(line.size() <= 100);
  CHECK_THAT(csv.out, ContainsSubstring("\nmixtral-8x7b,46702792704,12879925248,32,32768,mixtral,"));
}
