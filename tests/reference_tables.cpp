// Every table of tests/reference is compared by a test, through check_table, which proves that it can fail.
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/catch.hpp"

TEST_CASE("no reference table lies unread") {
  const std::filesystem::path tests = std::string(LLMCALC_SOURCE_DIR) + "/tests";
  std::string sources;
  for (const auto& file : std::filesystem::directory_iterator(tests)) {
    if (file.path().extension() != ".cpp") continue;
    std::ifstream stream(file.path());
    sources.append(std::istreambuf_iterator<char>(stream), {});
  }
  sources.erase(std::remove_if(sources.begin(), sources.end(), [](unsigned char c) { return std::isspace(c); }),
                sources.end());
  int tables = 0;
  for (const auto& file : std::filesystem::directory_iterator(tests / "reference")) {
    if (file.path().extension() != ".tsv") continue;
    INFO(file.path().filename());
    CHECK(sources.find("check_table({\"" + file.path().filename().string() + "\"") != std::string::npos);
    ++tables;
  }
  CHECK(tables >= 15);
}
