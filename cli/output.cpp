// The standard streams, through the system's calls: no buffers to flush, and every error is seen.
#include "cli/output.hpp"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "report/layout.hpp"
#include "report/terminal.hpp"

namespace llmcalc::cli {

namespace {

// 0, or the error number.
int write_all(int stream, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(stream, text.data(), text.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      return errno;
    }
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

}  // namespace

void prepare_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(stream, F_GETFD) != -1) continue;
    // Descriptors are given out from the lowest: without this a profile that is read would become "stdout".
    // Opened against its direction, so that using the stream still fails.
    const int opened = ::open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
    if (opened < 0) return;  // no /dev/null, nothing to protect
  }
  ::signal(SIGPIPE, SIG_IGN);
}

void write_result(std::string_view text) {
  const int error = write_all(STDOUT_FILENO, text);
  if (error == 0) return;
  if (error == EPIPE) throw Error(Exit::bad_input, "standard output was closed before the result was written");
  throw Error(Exit::bad_input,
              std::string("the result could not be written to standard output: ") + std::strerror(error));
}

void write_diagnostics(const std::vector<Diagnostic>& diagnostics) {
  std::string text;
  for (const Diagnostic& diagnostic : diagnostics) text += report::printable(to_string(diagnostic), "\n") + "\n";
  write_all(STDERR_FILENO, text);  // when this fails there is nobody left to tell; the exit code says it
}

std::size_t columns() { return report::columns_of(STDOUT_FILENO); }

bool colour_wanted() { return report::colour_wanted(STDOUT_FILENO); }

}  // namespace llmcalc::cli
