// `llmcalc measure` and `llmcalc check` as a user meets them: exit codes, the profile, an interrupt, a full disk.
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>

#include "catch.hpp"
#include "read/load.hpp"
#include "tests/support/program.hpp"

using namespace llmcalc;
using test::Ran;
using test::run_program;

namespace {

// A folder of its own, gone at the end.
class Scratch {
 public:
  Scratch() {
    char name[] = "/tmp/llmcalc-measure-XXXXXX";
    REQUIRE(mkdtemp(name) != nullptr);
    folder_ = name;
  }
  ~Scratch() { std::system(("rm -rf " + folder_).c_str()); }

  std::string file(const std::string& name, const std::string& text = "") const {
    if (!text.empty()) std::ofstream(folder_ + "/" + name) << text;
    return folder_ + "/" + name;
  }

 private:
  std::string folder_;
};

const std::string head = "llmcalc.replay/1\ndevice Replayed\nmemory 1000000\ncache 1000\nworkload *\n";
const std::string steady = head + "samples 0.0010 0.00101 0.00100\n";

Device device_in(const std::string& file) {
  Diagnostics diagnostics;
  return load_device(file, diagnostics);
}

// Starts `measure --full` on the processor, waits until the file holds something, and sends it a signal.
int signalled(const std::string& out, int signal) {
  const pid_t child = fork();
  if (child == 0) {
    std::freopen("/dev/null", "w", stdout);
    std::freopen("/dev/null", "w", stderr);
    execl(LLMCALC_PROGRAM, LLMCALC_PROGRAM, "measure", "--backend", "cpu", "--full", "--out", out.c_str(), nullptr);
    _exit(127);
  }
  for (int i = 0; i < 600 && access(out.c_str(), F_OK) != 0; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  kill(child, signal);
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

}  // namespace

TEST_CASE("Every backend is listed, with the reason why it cannot be used") {
  const Ran ran = run_program({"measure", "--list-backends"});
  CHECK(ran.exit == 0);
  for (const char* name : {"cpu", "cuda", "replay"}) CHECK(ran.out.find(name) != std::string::npos);
}

TEST_CASE("A measurement becomes a profile that stands as a device") {
  const Scratch scratch;
  const std::string out = scratch.file("measured.yaml");
  const Ran ran = run_program({"measure", "--backend", "replay:" + scratch.file("steady.txt", steady), "--quick",
                               "--only", "copy,matmul", "--out", out});
  CHECK(ran.exit == 0);
  CHECK(ran.out.find("copy fp32") != std::string::npos);
  const Device device = device_in(out);
  CHECK(device.name == "Replayed");
  REQUIRE_FALSE(device.measured.empty());
  CHECK(device.measured.front().verified);
  CHECK(device.memory_bandwidth);
  CHECK(device.peak.count("fp32") == 1);
  CHECK(run_program({"validate", out}).exit == 0);
}

TEST_CASE("What failed verification is marked, and the exit is 5") {
  const Scratch scratch;
  const std::string backend = "replay:" + scratch.file("wrong.txt", steady + "error nan\n");
  const Ran ran =
      run_program({"measure", "--backend", backend, "--quick", "--only", "copy", "--out", scratch.file("m.yaml")});
  CHECK(ran.exit == 5);
  CHECK(ran.out.find("FAILED") != std::string::npos);
}

TEST_CASE("Noise is marked with --quick, an error without, unless allowed") {
  const Scratch scratch;
  const std::string backend = "replay:" + scratch.file("noisy.txt", head + "samples 0.1 0.5 0.2 0.9 0.1 2 0.3 1.5\n");
  const auto exit_of = [&](const std::string& option) {
    return run_program({"measure", "--backend", backend, option, "--only", "copy", "--out", scratch.file("m.yaml")})
        .exit;
  };
  CHECK(exit_of("--quick") == 0);
  CHECK(exit_of("--full") == 5);
  CHECK(exit_of("--allow-noisy") == 0);
}

TEST_CASE("A full disk and a folder that is not there are reported, with nothing on stdout") {
  const Scratch scratch;
  const std::string backend = "replay:" + scratch.file("steady.txt", steady);
  for (const std::string& out : {std::string("/dev/full"), scratch.file("no/such/folder.yaml")}) {
    const Ran ran = run_program({"measure", "--backend", backend, "--quick", "--only", "copy", "--out", out});
    CHECK(ran.exit == 3);
    CHECK(ran.out.empty());
    CHECK(ran.err.find("cannot write") != std::string::npos);
  }
}

TEST_CASE("Wrong usage of measure is refused") {
  CHECK(run_program({"measure", "--only", "cpy"}).exit == 2);
  CHECK(run_program({"measure", "--quick", "--full"}).exit == 2);
  CHECK(run_program({"measure", "--backend", "abacus"}).exit == 2);
  CHECK(run_program({"measure", "--backend", "replay:/no/such/file"}).exit == 3);
}

TEST_CASE("A kill in mid-run leaves a whole profile, and --resume goes on with it") {
  const Scratch scratch;
  const std::string out = scratch.file("killed.yaml");
  CHECK(WIFSIGNALED(signalled(out, SIGKILL)));
  const std::size_t before = device_in(out).measured.size();
  CHECK(before >= 1);
  // Another device's measurements are not mixed in.
  const Ran other =
      run_program({"measure", "--backend", "replay:" + scratch.file("steady.txt", steady), "--resume", "--out", out});
  CHECK(other.exit == 3);
}

TEST_CASE("An interrupt keeps what was found, and says so by its exit") {
  const Scratch scratch;
  const std::string out = scratch.file("interrupted.yaml");
  const int status = signalled(out, SIGINT);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 5);
  CHECK_FALSE(device_in(out).measured.empty());
}

TEST_CASE("check wants measurements of the model's own operations") {
  const Scratch scratch;
  const std::string out = scratch.file("m.yaml");
  const std::string backend = "replay:" + scratch.file("steady.txt", steady);
  run_program({"measure", "--backend", backend, "--quick", "--only", "copy,matmul", "--out", out});
  const std::vector<std::string> job = {"--seq", "64", "--precision", "fp32"};
  const auto with_job = [&](std::vector<std::string> words) {
    words.insert(words.end(), job.begin(), job.end());
    return run_program(words);
  };
  const Ran without = with_job({"check", "gpt2", out});
  CHECK(without.exit == 1);  // nothing of the step was measured
  CHECK(without.err.find("0.0 %") != std::string::npos);
  CHECK(with_job({"check", "gpt2", "h100-sxm"}).exit == 3);

  CHECK(with_job({"measure", "--backend", backend, "--allow-noisy", "--model", "gpt2", "--only", "copy,matmul,step",
                  "--out", out})
            .exit == 0);
  CHECK(with_job({"check", "gpt2", out}).exit == 0);
  // Every replayed operation takes a millisecond, whatever its size: far from any prediction.
  CHECK(with_job({"check", "gpt2", out, "--tolerance", "1%"}).exit == 1);
}
