// A folder of a test's own, removed at the end.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace llmcalc::test {

class Folder {
 public:
  Folder();
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::string path() const { return path_.string(); }
  std::string path(const std::string& name) const { return (path_ / name).string(); }
  // Writes `text` and then zeros up to `size` bytes in all; gives the path.
  std::string write(const std::string& name, const std::string& text, std::uint64_t size = 0) const;

 private:
  std::filesystem::path path_;
};

}  // namespace llmcalc::test
