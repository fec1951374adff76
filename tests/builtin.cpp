// The profiles in the program are the files of the repository: all of them, in order, byte for byte.
#include "read/builtin.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/catch.hpp"

namespace {

std::string content(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void check_same(std::span<const llmcalc::BuiltIn> built_in, const std::string& folder) {
  const std::filesystem::path root = std::filesystem::path(LLMCALC_SOURCE_DIR) / folder;
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(root)) files += entry.path().extension() == ".yaml";
  CHECK(built_in.size() == files);
  CHECK(files > 0);
  CHECK(std::is_sorted(built_in.begin(), built_in.end(), [](const auto& a, const auto& b) { return a.id < b.id; }));
  for (const llmcalc::BuiltIn& profile : built_in) {
    INFO(profile.id);
    CHECK(profile.text == content(root / (std::string(profile.id) + ".yaml")));
  }
}

}  // namespace

TEST_CASE("built-in models are profiles/*.yaml") { check_same(llmcalc::builtin_models(), "profiles"); }

TEST_CASE("built-in devices are hardware/*.yaml") { check_same(llmcalc::builtin_devices(), "hardware"); }
