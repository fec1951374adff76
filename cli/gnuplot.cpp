#include "cli/gnuplot.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "core/diagnostics.hpp"
#include "core/suggest.hpp"

extern char** environ;

namespace llmcalc::cli {

namespace {

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() > end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

[[noreturn]] void no_gnuplot(const std::string& why) {
  throw Error(Exit::not_available, "the plot needs gnuplot, " + why,
              "Debian and Ubuntu: apt install gnuplot-nox; Fedora: dnf install gnuplot; macOS: brew install gnuplot");
}

struct Pipe {
  int read = -1, write = -1;
  Pipe() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0)
      throw Error(Exit::not_available, std::string("no pipe: ") + std::strerror(errno));
    read = ends[0];
    write = ends[1];
  }
  ~Pipe() {
    close_end(read);
    close_end(write);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  static void close_end(int& end) {
    if (end >= 0) ::close(end);
    end = -1;
  }
};

// Feeds the script and takes what comes back, whichever is ready, so that neither side waits for the other.
void exchange(Pipe& to, Pipe& from, Pipe& errors, std::string_view script, std::string& out, std::string& complaints) {
  std::array<char, 65536> buffer{};
  ::fcntl(to.write, F_SETFL, O_NONBLOCK);
  while (from.read >= 0 || errors.read >= 0) {
    pollfd ends[3] = {{to.write, POLLOUT, 0}, {from.read, POLLIN, 0}, {errors.read, POLLIN, 0}};
    if (::poll(ends, 3, -1) < 0 && errno != EINTR) break;
    if (ends[0].revents != 0) {
      const ssize_t n = ::write(to.write, script.data(), script.size());
      if (n > 0) script.remove_prefix(static_cast<std::size_t>(n));
      if (script.empty() || (n < 0 && errno != EAGAIN && errno != EINTR)) Pipe::close_end(to.write);
    }
    const auto take = [&](int& end, short happened, std::string& into) {
      if (happened == 0) return;
      const ssize_t n = ::read(end, buffer.data(), buffer.size());
      if (n > 0) into.append(buffer.data(), static_cast<std::size_t>(n));
      if (n == 0 || (n < 0 && errno != EINTR)) Pipe::close_end(end);
    };
    take(from.read, ends[1].revents, out);
    take(errors.read, ends[2].revents, complaints);
  }
}

}  // namespace

report::PlotForm plot_form(const std::string& file) {
  if (file == "-") return report::PlotForm::terminal;
  if (ends_with(file, ".svg")) return report::PlotForm::svg;
  if (ends_with(file, ".png")) return report::PlotForm::png;
  throw Error(Exit::usage, "--plot " + in_quotes(file) + ": the ending is none of .svg, .png",
              "or - for a plot in the terminal");
}

std::string run_gnuplot(const std::string& script) {
  Pipe to, from, errors;
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, to.read, STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, from.write, STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, errors.write, STDERR_FILENO);
  std::string name = "gnuplot", dash = "-";
  char* const arguments[] = {name.data(), dash.data(), nullptr};
  pid_t child = 0;
  const int failed = ::posix_spawnp(&child, name.c_str(), &actions, nullptr, arguments, environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) no_gnuplot(failed == ENOENT ? "which is not installed" : std::strerror(failed));
  Pipe::close_end(to.read);
  Pipe::close_end(from.write);
  Pipe::close_end(errors.write);
  std::string out, complaints;
  exchange(to, from, errors, script, out, complaints);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  const bool done = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  if (!done || out.empty()) no_gnuplot("which failed: " + in_quotes(complaints));
  return out;
}

void run_gnuplot_into(const std::string& script, const std::string& file) {
  const std::string picture = run_gnuplot(script);
  const std::string unfinished = file + ".part" + std::to_string(::getpid());
  const auto fail = [&] {
    const std::string why = std::strerror(errno);
    std::remove(unfinished.c_str());
    throw Error(Exit::bad_input, file + " cannot be written: " + why);
  };
  std::FILE* stream = std::fopen(unfinished.c_str(), "wb");
  if (stream == nullptr) fail();
  const bool whole = std::fwrite(picture.data(), 1, picture.size(), stream) == picture.size();
  const bool closed = std::fclose(stream) == 0;
  if (!whole || !closed || std::rename(unfinished.c_str(), file.c_str()) != 0) fail();
}

}  // namespace llmcalc::cli
