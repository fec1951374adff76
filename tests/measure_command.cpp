// `llmcalc measure` and `llmcalc check` as a user meets them: exit codes, the profile, an interrupt, a full disk.
#include <sys/resource.h>
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
#include "tests/support/folder.hpp"
#include "tests/support/program.hpp"

using namespace llmcalc;
using test::Folder;
using test::Ran;
using test::run_program;

namespace {

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
  const Folder folder;
  const std::string out = folder.path("measured.yaml");
  const Ran ran = run_program({"measure", "--backend", "replay:" + folder.write("steady.txt", steady), "--quick",
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
  const Folder folder;
  const std::string backend = "replay:" + folder.write("wrong.txt", steady + "error nan\n");
  const Ran ran =
      run_program({"measure", "--backend", backend, "--quick", "--only", "copy", "--out", folder.path("m.yaml")});
  CHECK(ran.exit == 5);
  CHECK(ran.out.find("FAILED") != std::string::npos);
}

TEST_CASE("Noise is marked with --quick, an error without, unless allowed") {
  const Folder folder;
  const std::string backend = "replay:" + folder.write("noisy.txt", head + "samples 0.1 0.5 0.2 0.9 0.1 2 0.3 1.5\n");
  const auto exit_of = [&](const std::string& option) {
    return run_program({"measure", "--backend", backend, option, "--only", "copy", "--out", folder.path("m.yaml")})
        .exit;
  };
  CHECK(exit_of("--quick") == 0);
  CHECK(exit_of("--full") == 5);
  CHECK(exit_of("--allow-noisy") == 0);
}

TEST_CASE("A full disk and a folder that is not there are reported, with nothing on stdout") {
  const Folder folder;
  const std::string backend = "replay:" + folder.write("steady.txt", steady);
  for (const std::string& out : {std::string("/dev/full"), folder.path("no/such/folder.yaml")}) {
    const Ran ran = run_program({"measure", "--backend", backend, "--quick", "--only", "copy", "--out", out});
    CHECK(ran.exit == 3);
    CHECK(ran.out.empty());
    CHECK(ran.err.find("cannot write") != std::string::npos);
  }
}

TEST_CASE("A disk that fills up leaves the profile that was there, whole") {
  const Folder folder;
  const std::string out = folder.path("m.yaml"), backend = "replay:" + folder.write("steady.txt", steady);
  const std::vector<std::string> first = {"measure", "--backend", backend, "--quick", "--only", "copy", "--out", out};
  REQUIRE(run_program(first).exit == 0);
  const std::size_t before = device_in(out).measured.size();
  const pid_t child = fork();
  if (child == 0) {
    // No file may grow beyond a kilobyte: the longer profile does not fit.
    const rlimit limit{1024, 1024};
    setrlimit(RLIMIT_FSIZE, &limit);
    std::signal(SIGXFSZ, SIG_IGN);
    std::freopen("/dev/null", "w", stdout);
    std::freopen("/dev/null", "w", stderr);
    execl(LLMCALC_PROGRAM, LLMCALC_PROGRAM, "measure", "--backend", backend.c_str(), "--quick", "--only",
          "copy,triad,add,scale", "--out", out.c_str(), nullptr);
    _exit(127);
  }
  int status = 0;
  waitpid(child, &status, 0);
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 3);
  CHECK(device_in(out).measured.size() == before);
  CHECK(access((out + ".partial").c_str(), F_OK) != 0);
}

TEST_CASE("Raw samples are kept, and play back to the same verdicts") {
  const Folder folder;
  const std::string recording = folder.path("samples.txt");
  const auto measured = [&](const std::string& backend, const std::string& out) {
    const Ran ran = run_program({"measure", "--backend", backend, "--tiny", "--record", recording, "--out", out});
    INFO(ran.err);
    CHECK(ran.exit == 0);
    return device_in(out);
  };
  const Device live = measured("cpu", folder.path("live.yaml"));
  const std::string kept = folder.path("kept.txt");
  REQUIRE(std::rename(recording.c_str(), kept.c_str()) == 0);
  const Device replayed = measured("replay:" + kept, folder.path("replayed.yaml"));
  CHECK(replayed.name == live.name);
  REQUIRE(live.measured.size() > 20);
  REQUIRE(replayed.measured.size() == live.measured.size());
  for (std::size_t i = 0; i < live.measured.size(); ++i) {
    INFO(live.measured[i].workload);
    CHECK(live.measured[i].verified);
    CHECK(replayed.measured[i].verified);
    CHECK(replayed.measured[i].workload == live.measured[i].workload);
    CHECK(replayed.measured[i].layout == live.measured[i].layout);
    CHECK(replayed.measured[i].flops == live.measured[i].flops);
    CHECK(replayed.measured[i].median.value() == Approx(live.measured[i].median.value()).epsilon(1e-4));
  }
}

TEST_CASE("Transfers of a device are fitted, and stand in the profile") {
  const Folder folder;
  // 2 us + payload / 50 GB/s for the five sizes of a quick run.
  std::string text = "llmcalc.replay/1\ndevice Card\nmemory 1000000\ncache 1000\ngpu\ncapability 9.0\n";
  for (double bytes = 1024; bytes <= 1073741824; bytes *= 32)
    text += "workload host_to_device uint8 pinned," + std::to_string(static_cast<long long>(bytes)) + "\nsamples " +
            std::to_string(2e-6 + bytes / 50e9) + "\n";
  const std::string out = folder.path("card.yaml");
  const Ran ran = run_program({"measure", "--backend", "replay:" + folder.write("card.txt", text), "--quick", "--only",
                               "host_to_device", "--out", out});
  INFO(ran.err);
  CHECK(ran.exit == 0);
  CHECK(ran.out.find("payload") != std::string::npos);
  const Device device = device_in(out);
  REQUIRE(device.transfers.size() == 1);
  CHECK(device.transfers[0].variant == "pinned");
  CHECK(device.transfers[0].rate.value() == Approx(50e9).epsilon(0.02));
  CHECK(device.transfers[0].latency.value() == Approx(2e-6).epsilon(0.2));  // the samples above have microseconds
  CHECK(run_program({"validate", out}).exit == 0);
}

TEST_CASE("A long run is reported apart, and the roof that was measured is shown") {
  const Folder folder;
  const std::string out = folder.path("m.yaml"), backend = "replay:" + folder.write("steady.txt", steady);
  const Ran ran = run_program({"measure", "--backend", backend, "--quick", "--only", "copy,matmul,intensity",
                               "--sustained", "3s", "--out", out});
  INFO(ran.err);
  CHECK(ran.exit == 0);
  CHECK(ran.out.find("of the burst") != std::string::npos);
  std::size_t bursts = 0;
  for (const MeasuredWorkload& w : device_in(out).measured) bursts += w.span == "burst";
  CHECK(bursts == 2);  // one product, one pass
  const Ran roof = run_program({"roofline", out});
  CHECK(roof.exit == 0);
  CHECK(roof.out.find("The roof as measured") != std::string::npos);
  CHECK(run_program({"measure", "--backend", backend, "--sustained", "1s"}).exit == 3);
  CHECK(run_program({"measure", "--backend", backend, "--sustained", "soon"}).exit == 3);
}

TEST_CASE("Wrong usage of measure is refused") {
  CHECK(run_program({"measure", "--tiny", "--quick"}).exit == 2);

  CHECK(run_program({"measure", "--only", "cpy"}).exit == 2);
  CHECK(run_program({"measure", "--only", "nothing-like-it"}).err.find("one of read, write") != std::string::npos);
  CHECK(run_program({"measure", "--only", "step"}).err.find("--model MODEL") != std::string::npos);
  CHECK(run_program({"measure", "--quick", "--full"}).exit == 2);
  CHECK(run_program({"measure", "--backend", "abacus"}).exit == 2);
  CHECK(run_program({"measure", "--backend", "replay:/no/such/file"}).exit == 3);
}

TEST_CASE("--resume keeps what was measured and measures the rest") {
  const Folder folder;
  const std::string out = folder.path("m.yaml");
  const auto measured = [&](const std::string& samples, std::vector<std::string> more) {
    std::vector<std::string> words{"measure", "--backend", "replay:" + folder.write("samples.txt", head + samples),
                                   "--quick", "--out",     out};
    words.insert(words.end(), more.begin(), more.end());
    const Ran ran = run_program(words);
    INFO(ran.err);
    CHECK(ran.exit == 0);
    return device_in(out).measured;
  };
  const std::size_t copies = measured("samples 0.001 0.001 0.001\n", {"--only", "copy"}).size();
  REQUIRE(copies > 0);
  // The second recording would give twice the time.
  const auto both = measured("samples 0.002 0.002 0.002\n", {"--only", "copy,triad", "--resume"});
  std::size_t old = 0;
  for (const MeasuredWorkload& w : both) {
    CHECK(w.median.value() == Approx(w.workload == "copy" ? 0.001 : 0.002));
    old += w.workload == "copy";
  }
  CHECK(old == copies);
  CHECK(both.size() > copies);
}

TEST_CASE("What is measured for one job is not mixed with another's, nor taken for it unsaid") {
  const Folder folder;
  const std::string out = folder.path("m.yaml"), backend = "replay:" + folder.write("steady.txt", steady);
  const auto with_seq = [&](std::vector<std::string> words, const char* seq) {
    words.insert(words.end(), {"--seq", seq, "--precision", "fp32"});
    return run_program(words);
  };
  const std::vector<std::string> measure{"measure", "--quick", "--backend", backend, "--model", "gpt2", "--out", out};
  CHECK(with_seq(measure, "64").exit == 0);
  std::vector<std::string> resume = measure;
  resume.emplace_back("--resume");
  const Ran mixed = with_seq(resume, "32");
  CHECK(mixed.exit == 3);
  CHECK(mixed.err.find("seq 64") != std::string::npos);
  CHECK(mixed.err.find("seq 32") != std::string::npos);
  CHECK(with_seq(resume, "64").exit == 0);

  const std::vector<std::string> check{"check", "gpt2", out};
  CHECK(with_seq(check, "64").err.find("was measured for") == std::string::npos);
  CHECK(with_seq(check, "32").err.find("was measured for GPT-2 small: batch 1, seq 64") != std::string::npos);
  CHECK(run_program({"check", "gpt2", out, "--seq", "64", "--precision", "fp32", "--tolerance", "15"}).exit == 3);
}

TEST_CASE("An estimate from measured rates says how many of them never settled") {
  const Folder folder;
  for (const bool settled : {true, false}) {
    const std::string samples = settled ? "samples 0.001\n" : "samples 0.001 0.003 0.0005 0.006 0.002 0.009\n";
    const std::string out = folder.path(settled ? "quiet.yaml" : "noisy.yaml");
    run_program({"measure", "--quick", "--backend", "replay:" + folder.write("r.txt", head + samples), "--only",
                 "matmul,copy", "--out", out});
    const Ran ran = run_program({"estimate", "gpt2", out, "--seq", "64", "--precision", "fp32"});
    INFO(ran.out << ran.err);
    CHECK((ran.out.find("never settled") == std::string::npos) == settled);
  }
}

TEST_CASE("A file of another kind is not overwritten") {
  const Folder folder;
  const std::string thesis = folder.write("thesis.txt", "years of work\n"),
                    backend = "replay:" + folder.write("steady.txt", steady);
  for (const char* option : {"--out", "--record"}) {
    const Ran ran = run_program({"measure", "--quick", "--backend", backend, "--only", "launch", option, thesis});
    CHECK(ran.exit == 3);
    CHECK(ran.err.find("would be lost") != std::string::npos);
  }
  std::ifstream in(thesis);
  std::string kept;
  std::getline(in, kept);
  CHECK(kept == "years of work");
}

TEST_CASE("A kill in mid-run leaves a whole profile, and --resume goes on with it") {
  const Folder folder;
  const std::string out = folder.path("killed.yaml");
  CHECK(WIFSIGNALED(signalled(out, SIGKILL)));
  const auto before = device_in(out).measured;
  CHECK_FALSE(before.empty());
  REQUIRE(run_program({"measure", "--backend", "cpu", "--tiny", "--only", "launch", "--resume", "--out", out}).exit ==
          0);
  const auto after = device_in(out).measured;
  REQUIRE(after.size() >= before.size());
  for (std::size_t i = 0; i < before.size(); ++i) {
    CHECK(after[i].workload == before[i].workload);
    CHECK(after[i].median.value() == Approx(before[i].median.value()));
  }
  // Another device's measurements are not mixed in.
  const Ran other =
      run_program({"measure", "--backend", "replay:" + folder.write("steady.txt", steady), "--resume", "--out", out});
  CHECK(other.exit == 3);
}

TEST_CASE("An interrupt keeps what was found, and says so by its exit") {
  const Folder folder;
  const std::string out = folder.path("interrupted.yaml");
  const int status = signalled(out, SIGINT);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 5);
  CHECK_FALSE(device_in(out).measured.empty());
}

TEST_CASE("check wants measurements of the model's own operations") {
  const Folder folder;
  const std::string out = folder.path("m.yaml");
  const std::string backend = "replay:" + folder.write("steady.txt", steady);
  REQUIRE(run_program({"measure", "--backend", backend, "--quick", "--only", "copy,matmul", "--out", out}).exit == 0);
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
  const Ran checked = with_job({"check", "gpt2", out});
  CHECK(checked.exit == 0);
  CHECK(checked.out.find("Covered: 100.0 %") != std::string::npos);  // fused attention too
  CHECK(checked.out.find("attention_backward 12x64x64") != std::string::npos);
  // A GPU's profile has no fused attention: that is not covered, and the reason stands there.
  std::ifstream lines(out);
  std::string gpu, line;
  while (std::getline(lines, line)) {
    if (line.starts_with("memory:")) gpu += "compute_capability: 9.0\n";
    if (line.find("workload: \"attention") == std::string::npos) gpu += line + "\n";
  }
  const Ran uncovered = with_job({"check", "gpt2", folder.write("gpu.yaml", gpu), "--format", "json"});
  CHECK(uncovered.out.find("a fused kernel comes from cuDNN or a framework") != std::string::npos);
  // Every replayed operation takes a millisecond, whatever its size: far from any prediction.
  CHECK(with_job({"check", "gpt2", out, "--tolerance", "1%"}).exit == 1);
}
