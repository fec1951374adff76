#include "tests/support/folder.hpp"

#include <unistd.h>

#include <fstream>

namespace llmcalc::test {

namespace fs = std::filesystem;

Folder::Folder() {
  static int made = 0;
  path_ = fs::temp_directory_path() / ("llmcalc-test-" + std::to_string(::getpid()) + "-" + std::to_string(++made));
  fs::create_directories(path_);
}

Folder::~Folder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

std::string Folder::write(const std::string& name, const std::string& text, std::uint64_t size) const {
  std::ofstream(path_ / name, std::ios::binary) << text;
  if (size > text.size()) fs::resize_file(path_ / name, size);
  return path(name);
}

}  // namespace llmcalc::test
