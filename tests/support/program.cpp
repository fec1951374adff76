#include "tests/support/program.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <stdexcept>

namespace llmcalc::test {

namespace {

// A file without a name that the child writes and the parent reads: no pipe that could fill up.
int scratch_file() {
  std::FILE* file = std::tmpfile();
  if (file == nullptr) throw std::runtime_error("no scratch file");
  const int descriptor = ::dup(::fileno(file));
  std::fclose(file);
  return descriptor;
}

std::string contents(int file) {
  std::string text;
  ::lseek(file, 0, SEEK_SET);
  char buffer[4096];
  for (ssize_t n = 0; (n = ::read(file, buffer, sizeof buffer)) > 0;) text.append(buffer, static_cast<std::size_t>(n));
  ::close(file);
  return text;
}

// The program of this build, or another one: an installed one, one with a planted fault.
const char* program() {
  const char* other = std::getenv("LLMCALC_PROGRAM");
  return other != nullptr ? other : LLMCALC_PROGRAM;
}

// `out`: the child's stdout, -1 for a closed one. The caller keeps it.
Ran run(const std::vector<std::string>& arguments, int out) {
  const int err = scratch_file();
  const pid_t child = ::fork();
  if (child < 0) throw std::runtime_error("fork failed");
  if (child == 0) {
    ::signal(SIGPIPE, SIG_DFL);
    if (out >= 0) {
      ::dup2(out, STDOUT_FILENO);
    } else {
      ::close(STDOUT_FILENO);
    }
    ::dup2(err, STDERR_FILENO);
    std::vector<char*> argv = {const_cast<char*>(program())};
    for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
    argv.push_back(nullptr);
    ::execv(program(), argv.data());
    ::_exit(127);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, "", contents(err)};
}

}  // namespace

Ran run_program(const std::vector<std::string>& arguments) {
  const int out = scratch_file();
  Ran ran = run(arguments, out);
  ran.out = contents(out);
  return ran;
}

Ran run_program_into(const std::string& path, const std::vector<std::string>& arguments) {
  const int out = path.empty() ? -1 : ::open(path.c_str(), O_WRONLY);
  const Ran ran = run(arguments, out);
  if (out >= 0) ::close(out);
  return ran;
}

Ran run_program_into_closed_pipe(const std::vector<std::string>& arguments) {
  int ends[2];
  if (::pipe(ends) != 0) throw std::runtime_error("no pipe");
  ::close(ends[0]);
  const Ran ran = run(arguments, ends[1]);
  ::close(ends[1]);
  return ran;
}

}  // namespace llmcalc::test
