// Runs a fuzz target over the files of folders, without libFuzzer: replay FOLDER...
// Each input is also cut short and damaged in a few places, the same way every time. Anything but a return (a crash,
// another exception) fails the test; the last name printed is the one it was.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

constexpr std::size_t cuts = 16, changes = 48;   // per input; the whole corpus takes seconds
constexpr std::size_t largest_damaged = 20'000;  // bytes; larger inputs are there for their size
constexpr std::size_t fewest_inputs = 3;         // less is a corpus that got lost

class Random {
 public:
  std::size_t below(std::size_t bound) {
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;  // Knuth's MMIX generator
    return static_cast<std::size_t>(state_ >> 33U) % bound;
  }

 private:
  std::uint64_t state_ = 1;
};

void run(const std::string& text) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
}

void run_damaged(const std::string& text, Random& random) {
  static const std::string alphabet("{}[]:,-\"'\n \t#&*!%0e9.\x00\xff", 24);
  for (std::size_t i = 0; i < cuts; ++i) run(text.substr(0, text.size() * i / cuts));
  for (std::size_t i = 0; i < changes; ++i) {
    std::string changed = text;
    for (std::size_t n = random.below(4) + 1; n > 0; --n) {
      changed[random.below(changed.size())] = alphabet[random.below(alphabet.size())];
    }
    run(changed);
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::filesystem::path> paths;
  for (int i = 1; i < argc; ++i) {
    for (const auto& entry : std::filesystem::directory_iterator(argv[i])) paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  Random random;
  for (const auto& path : paths) {
    std::ifstream file(path, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    std::printf("%s\n", path.filename().c_str());
    std::fflush(stdout);
    run(text);
    if (!text.empty() && text.size() <= largest_damaged) run_damaged(text, random);
  }
  std::printf("%zu inputs\n", paths.size());
  return paths.size() >= fewest_inputs ? 0 : 1;
}
