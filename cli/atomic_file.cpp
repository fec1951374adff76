#include "cli/atomic_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "core/diagnostics.hpp"

namespace llmcalc::cli {

namespace {

[[noreturn]] void fail(const std::string& path, int error) {
  throw Error(Exit::bad_input, "cannot write " + path + ": " + std::strerror(error), "give another path");
}

// Everything on the disk, or the system's error number.
int write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  // Not every file can be synchronised (a pipe cannot).
  return fsync(file) != 0 && errno != EINVAL && errno != EROFS && errno != ENOTSUP ? errno : 0;
}

void write_to(const std::string& name, int flags, std::string_view text, const std::string& path) {
  const int file = open(name.c_str(), flags | O_CLOEXEC, 0666);
  if (file < 0) fail(path, errno);
  int error = write_all(file, text);
  if (close(file) != 0 && error == 0) error = errno;
  if (error != 0) {
    if (name != path) unlink(name.c_str());
    fail(path, error);
  }
}

bool is_special(const std::string& path) {
  struct stat found {};
  return stat(path.c_str(), &found) == 0 && !S_ISREG(found.st_mode);
}

std::string beside(const std::string& path) { return path + ".partial"; }

}  // namespace

void replace_file(const std::string& path, std::string_view text) {
  if (is_special(path)) return write_to(path, O_WRONLY | O_TRUNC, text, path);
  write_to(beside(path), O_WRONLY | O_CREAT | O_TRUNC, text, path);
  if (std::rename(beside(path).c_str(), path.c_str()) != 0) {
    const int error = errno;
    unlink(beside(path).c_str());
    fail(path, error);
  }
}

void require_writable(const std::string& path, std::string_view text) {
  if (is_special(path)) return;  // what is written to a pipe cannot be taken back
  write_to(beside(path), O_WRONLY | O_CREAT | O_TRUNC, text, path);
  unlink(beside(path).c_str());
}

}  // namespace llmcalc::cli
