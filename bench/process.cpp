// Measures a whole process, start-up included: wall time and peak memory of many runs, as the kernel reports them.
//   process RUNS COMMAND ARGUMENTS...
// Prints: median, least and 95th percentile of the wall time in milliseconds, and the largest resident set in MB.
// The command's output is thrown away. It must succeed.
#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

extern char** environ;

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fputs("usage: process RUNS COMMAND ARGUMENTS...\n", stderr);
    return 2;
  }
  const int runs = std::atoi(argv[1]);
  posix_spawn_file_actions_t silent;
  posix_spawn_file_actions_init(&silent);
  posix_spawn_file_actions_addopen(&silent, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);

  constexpr int warm_up = 5;  // the program's pages get into the page cache
  std::vector<double> milliseconds;
  long resident_kib = 0;
  for (int run = -warm_up; run < runs; ++run) {
    const auto start = std::chrono::steady_clock::now();
    pid_t child = 0;
    if (posix_spawnp(&child, argv[2], &silent, nullptr, argv + 2, environ) != 0) {
      std::perror(argv[2]);
      return 1;
    }
    int status = 0;
    rusage usage{};
    wait4(child, &status, 0, &usage);
    const std::chrono::duration<double, std::milli> wall = std::chrono::steady_clock::now() - start;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
      std::fprintf(stderr, "%s failed\n", argv[2]);
      return 1;
    }
    if (run < 0) continue;
    milliseconds.push_back(wall.count());
    resident_kib = std::max(resident_kib, usage.ru_maxrss);
  }
  std::sort(milliseconds.begin(), milliseconds.end());
  const auto at = [&](double fraction) {
    return milliseconds[static_cast<std::size_t>(fraction * static_cast<double>(milliseconds.size() - 1))];
  };
  std::printf("wall ms: median %.2f, least %.2f, p95 %.2f; peak memory %.1f MB; %d runs\n", at(0.5),
              milliseconds.front(), at(0.95), static_cast<double>(resident_kib) * 1024 / 1e6, runs);
}
