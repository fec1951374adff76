// roofline, compare and mfu through the program: schemas, formats, plots, and what is refused.
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "tests/catch.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/json_runs.hpp"
#include "tests/support/runs.hpp"

using Catch::Matchers::ContainsSubstring;
using llmcalc::test::Folder;
using llmcalc::test::holds;
using llmcalc::test::output_of;
using llmcalc::test::Ran;
using llmcalc::test::refuses;
using llmcalc::test::run_program;
using nlohmann::json;

namespace {

bool exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

std::string start_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::string text(8, '\0');
  in.read(text.data(), 8);
  return text;
}

const char* const device_without_bandwidth =
    "schema: llmcalc.device/1\nname: Slow\nmemory: {capacity: 80 GB}\npeak: {bf16: 100 TFLOP/s}\n"
    "sources: {peak: invented, memory: invented}\n";

bool has_gnuplot() { return std::system("gnuplot --version > /dev/null 2>&1") == 0; }

}  // namespace

TEST_CASE("every form of output holds to its schema") {
  holds("roofline", {"roofline", "--peak", "100TFLOP/s", "--bandwidth", "1TB/s", "--intensity", "20"});
  holds("roofline", {"roofline", "--peak", "100TFLOP/s", "--bandwidth", "1TB/s"});
  holds("roofline", {"roofline", "h100-sxm"});
  holds("roofline", {"roofline", "gpt2", "a100-sxm-80gb", "--recompute", "full"});
  holds("compare", {"compare", "gpt2", "t4", "h100-sxm", "hypothetical", "--tokens", "1B"});
  holds("compare", {"compare", "one-billion", "hypothetical"});
  holds("mfu", {"mfu", "gpt2", "a100-sxm-80gb", "--step-time", "80ms"});
  holds("mfu", {"mfu", "gpt2", "a100-sxm-80gb", "--tokens", "10B", "--days", "5"});
  holds("mfu", {"mfu", "one-billion", "hypothetical", "--tokens-per-second", "5000"});
  holds("mfu", {"mfu", "gpt2", "a100-sxm-80gb", "--budget", "100"});
  holds("mfu", {"mfu", "gpt2", "a100-sxm-80gb", "--tokens", "10B", "--deadline", "2"});
  holds("estimate", {"estimate", "gpt2", "a100-sxm-80gb", "--tokens", "10B"});
}

TEST_CASE("roofline and estimate give one answer") {
  const json roofline = output_of({"roofline", "gpt2", "a100-sxm-80gb"}),
             estimate = output_of({"estimate", "gpt2", "a100-sxm-80gb"});
  CHECK(roofline["time"]["step"].get<double>() == Approx(estimate["time"]["step"].get<double>()));
  CHECK(roofline["time"]["lower_bound_step"].get<double>() ==
        Approx(estimate["time"]["lower_bound_step"].get<double>()));
  CHECK(roofline["time"]["kernels"] == estimate["time"]["kernels"]);
  // A measured step of the expected length has the expected MFU.
  std::ostringstream step;
  step << std::fixed << 1e3 * estimate["time"]["step"].get<double>() << "ms";
  CHECK(output_of({"mfu", "gpt2", "a100-sxm-80gb", "--step-time", step.str()})["mfu"].get<double>() ==
        Approx(estimate["time"]["mfu"].get<double>()).epsilon(1e-5));
}

TEST_CASE("text, Markdown and CSV") {
  const Ran text = run_program({"roofline", "llama-3-8b", "h100-sxm"});
  CHECK_THAT(text.out, ContainsSubstring("mlp.gate_proj mm"));
  CHECK_THAT(text.out, ContainsSubstring(" more"));
  std::istringstream lines(text.out);
  for (std::string line; std::getline(lines, line);) CHECK(line.size() <= 100);
  const Ran csv = run_program({"roofline", "llama-3-8b", "h100-sxm", "--format", "csv"});
  CHECK_THAT(csv.out, ContainsSubstring("operation,phase,flops,bytes,intensity,bound,attainable,time,share"));
  CHECK_THAT(csv.out, !ContainsSubstring(" more"));
  CHECK_THAT(run_program({"compare", "gpt2", "t4", "h100-sxm", "--format", "markdown"}).out,
             ContainsSubstring("| NVIDIA H100 SXM5 80GB |"));
  CHECK_THAT(run_program({"mfu", "gpt2", "t4", "--step-time", "1s"}).out,
             ContainsSubstring("Where other answers come from"));
}

TEST_CASE("plots") {
  const Folder folder;
  if (!has_gnuplot()) {
    WARN("no plot is drawn: gnuplot is not there, or does not run");
  } else {
    const std::string svg = folder.path("r.svg"), png = folder.path("r.png");
    CHECK(run_program({"roofline", "gpt2", "a100-sxm-80gb", "--plot", svg}).exit == 0);
    CHECK_THAT(start_of(svg), ContainsSubstring("<?xml"));
    CHECK(run_program({"roofline", "h100-sxm", "--plot", png}).exit == 0);
    CHECK(start_of(png) == "\x89PNG\r\n\x1a\n");
    CHECK_THAT(run_program({"roofline", "h100-sxm", "--plot", "-"}).out, ContainsSubstring("FLOP per byte moved"));
    refuses({"roofline", "h100-sxm", "--plot", folder.path("no/such/r.svg")}, 3, "cannot be written");
    // A name out of a file is no command: gnuplot would run what stands between backquotes.
    const std::string ran = folder.path("ran");
    const std::string named =
        folder.write("named.yaml",
                     "schema: llmcalc.device/1\nname: \"Card `touch " + ran +
                         "`\"\nmemory: {capacity: 80 GB}\npeak: {bf16: 100 TFLOP/s}\nsources: {peak: invented, memory: "
                         "invented}\n");
    CHECK_THAT(run_program({"roofline", named, "--plot", "-"}).out, ContainsSubstring("Roofline of Card 'touch"));
    CHECK(!exists(ran));
  }
  refuses({"roofline", "h100-sxm", "--plot", "r.gif"}, 2, ".svg, .png");
  refuses({"roofline", "h100-sxm", "--plot", "-", "--format", "json"}, 2, "beside text");
}

TEST_CASE("without gnuplot nothing is written") {
  const Folder folder;
  const std::string before = std::getenv("PATH");
  ::setenv("PATH", folder.path().c_str(), 1);
  refuses({"roofline", "h100-sxm", "--plot", folder.path("r.svg")}, 4, "apt install gnuplot-nox");
  ::setenv("PATH", before.c_str(), 1);
  CHECK(!exists(folder.path("r.svg")));
}

TEST_CASE("what is refused") {
  const Folder folder;
  refuses({"roofline", "--peak", "100TFLOP/s", "--bandwidth", "0TB/s"}, 3, "above 0");
  refuses({"roofline", "--peak", "100TB/s", "--bandwidth", "1TFLOP/s"}, 3, "--peak");
  refuses({"roofline", "--peak", "100TB/s", "--bandwidth", "1TFLOP/s"}, 3, "--bandwidth");
  refuses({"roofline", "--peak", "100TFLOP/s"}, 2, "--bandwidth is needed");
  refuses({"roofline", "--intensity", "20"}, 2, "--peak and --bandwidth");
  refuses({"roofline", "h100-sxm", "--peak", "100TFLOP/s", "--bandwidth", "1TB/s"}, 2, "stand in for a DEVICE");
  refuses({"roofline", "h100-sxm", "--batch", "2"}, 2, "no MODEL");
  refuses({"roofline", "h101-sxm"}, 3, "did you mean h100-sxm");
  refuses({"roofline", "one-billion", "h100-sxm"}, 3, "no operations");
  refuses({"roofline", "gpt2", "v100-sxm-16gb", "--precision", "bf16"}, 3, "amp-fp16");
  refuses({"compare", "gpt2", "h100-sxm", "v100-sxm-16gb", "--precision", "amp-bf16"}, 3, "no bf16");
  refuses({"roofline", "gpt2", folder.write("slow.yaml", device_without_bandwidth)}, 3,
          "Slow states no memory bandwidth");
  refuses({"compare", "gpt2"}, 2, "DEVICE");
  refuses({"compare", "gpt2", "nope", "never"}, 3, "never");
  refuses({"mfu", "gpt2", "h100-sxm"}, 2, "--tokens-per-second");
  refuses({"mfu", "gpt2", "h100-sxm", "--days", "3", "--step-time", "1s"}, 2, "different questions");
  refuses({"mfu", "gpt2", "h100-sxm", "--days", "3"}, 3, "--tokens");
  refuses({"mfu", "gpt2", "h100-sxm", "--step-time", "0.3"}, 3, "unit");
  refuses({"mfu", "gpt2", "h100-sxm", "--tokens-per-second", "0"}, 3, "above 0");
  refuses({"mfu", "gpt2", "h100-sxm", "--tokens-per-second", "1e9"}, 3, "more than");
  refuses({"mfu", "gpt2", "h100-sxm", "--step-time", "1s", "--mfu", "0.4"}, 2, "--mfu");
  refuses({"mfu", "gpt2", "hypothetical", "--budget", "100"}, 3, "--price");
}
