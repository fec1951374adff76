// The frame of the command line, through the program itself: usage errors, help, exit codes, streams.
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>

#include "tests/catch.hpp"
#include "tests/support/runs.hpp"

using Catch::Matchers::ContainsSubstring;
using llmcalc::test::Ran;
using llmcalc::test::refuses;
using llmcalc::test::run_program;
using llmcalc::test::run_program_into;
using llmcalc::test::run_program_into_closed_pipe;

namespace {

// Of each line after `heading`, up to an empty one, the first word; two spaces stand before it.
std::vector<std::string> entries(const std::string& help, const std::string& heading) {
  std::vector<std::string> found;
  std::istringstream lines(help.substr(help.find(heading)));
  std::string line;
  for (std::getline(lines, line); std::getline(lines, line) && !line.empty();)
    if (line.rfind("  ", 0) == 0 && line.size() > 2 && line[2] != ' ')
      found.push_back(line.substr(2, line.find_first_of(" =", 2) - 2));
  return found;
}

// Every --option that has a line of its own.
std::vector<std::string> options_in(const std::string& help) {
  std::vector<std::string> found;
  std::istringstream lines(help);
  for (std::string line; std::getline(lines, line);)
    if (line.rfind("  --", 0) == 0) found.push_back(line.substr(2, line.find_first_of(" ,=", 4) - 2));
  return found;
}

// From `heading` to the next one.
std::string section(const std::string& man, const std::string& heading) {
  const std::size_t begin = man.find(heading);
  return begin == std::string::npos ? "" : man.substr(begin, man.find("\n.S", begin) - begin);
}

std::string in_roff(const std::string& text) {
  std::string out;
  for (char c : text) out += c == '-' ? "\\-" : std::string(1, c);
  return out;
}

}  // namespace

TEST_CASE("wrong usage ends with 2, a message and an empty stdout") {
  refuses({"estimat", "gpt2"}, 2, "did you mean estimate?");
  refuses({"profiles/gpt2.yaml"}, 2, "llmcalc estimate profiles/gpt2.yaml");
  refuses({"estimate"}, 2, "needs MODEL");
  refuses({"estimate", "gpt2", "h100-sxm", "t4"}, 2, "'t4'");
  refuses({"estimate", "gpt2", "--bach", "3"}, 2, "did you mean --batch?");
  refuses({"estimate", "gpt2", "--json"}, 2, "did you mean --format json?");
  refuses({"estimate", "gpt2", "-b", "3"}, 2, "'-b'");
  refuses({"estimate", "gpt2", "--batch"}, 2, "--batch needs a value");
  refuses({"estimate", "gpt2", "--batch="}, 2, "--batch needs a value");
  refuses({"estimate", "gpt2", "--batch", "--seq", "4"}, 2, "--batch needs a value");
  refuses({"estimate", "gpt2", "--mtp=3"}, 2, "--mtp takes no value");
  refuses({"estimate", "gpt2", "--attention", "flsh"}, 3, "did you mean flash?");
  refuses({"estimate", "gpt2", "--format", "jsn"}, 2, "did you mean json?");
  refuses({"--batch", "3", "estimate", "gpt2"}, 2, "--batch");
  refuses({"list"}, 2, "models, devices");
  refuses({"list", "model"}, 2, "did you mean models");
  refuses({"help", "estimte"}, 2, "did you mean estimate?");
}

TEST_CASE("all usage errors of a line are reported together") {
  const Ran ran = run_program({"estimate", "gpt2", "--bach", "3", "--format", "jsn", "stray", "words"});
  CHECK(ran.exit == 2);
  CHECK_THAT(ran.err, ContainsSubstring("--bach"));
  CHECK_THAT(ran.err, ContainsSubstring("jsn"));
  CHECK_THAT(ran.err, ContainsSubstring("'stray'"));
}

TEST_CASE("values that no job can have name their option") {
  refuses({"estimate", "gpt2", "--batch", "0"}, 3, "batch");
  refuses({"estimate", "gpt2", "--batch", "-1"}, 3, "batch");
  refuses({"estimate", "gpt2", "--batch=x"}, 3, "batch");
  refuses({"estimate", "gpt2", "--seq", "99999999999999999999"}, 3, "seq");
  refuses({"estimate", "gpt2", "--mfu", "140%"}, 3, "mfu");
}

TEST_CASE("help and version go to stdout") {
  const Ran bare = run_program({});
  CHECK(bare.exit == 0);
  CHECK(bare.err.empty());
  CHECK_THAT(bare.out, ContainsSubstring("Commands:"));
  CHECK(run_program({"--help"}).out == bare.out);
  CHECK(run_program({"help"}).out == bare.out);

  const Ran help = run_program({"help", "estimate"});
  CHECK(help.exit == 0);
  CHECK_THAT(help.out, ContainsSubstring("--optimizer-step"));
  CHECK_THAT(help.out, ContainsSubstring("Examples:\n  llmcalc estimate"));
  CHECK(run_program({"estimate", "--help"}).out == help.out);
  CHECK(run_program({"estimate", "gpt2", "-h", "--no-such-option"}).out == help.out);  // help answers first
  CHECK(run_program({"--help", "estimate"}).out == help.out);

  const Ran version = run_program({"--version"});
  CHECK(version.exit == 0);
  CHECK_THAT(version.out, ContainsSubstring("llmcalc "));
  CHECK_THAT(version.out, ContainsSubstring("backends: "));
}

TEST_CASE("global options stand before or after the command") {
  const Ran before = run_program({"--format", "json", "list", "devices"});
  CHECK(before.exit == 0);
  CHECK_THAT(before.out, ContainsSubstring("\"schema\": \"llmcalc.devices/1\""));
  CHECK(run_program({"list", "devices", "--format=json"}).out == before.out);
  CHECK(run_program({"list", "--format", "json", "--", "devices"}).out == before.out);
  CHECK(run_program({"--format", "text", "list", "devices", "--format", "json"}).out ==
        before.out);  // the last one counts
}

TEST_CASE("output that cannot be written is an error") {
  for (const Ran& ran : {run_program_into("/dev/full", {"--version"}), run_program_into("", {"--version"}),
                         run_program_into_closed_pipe({"--version"})}) {
    CHECK(ran.exit == 3);
    CHECK_THAT(ran.err, ContainsSubstring("standard output"));
  }
}

TEST_CASE("a closed stdout is not mistaken for the profile that is read") {
  const Ran ran = run_program_into("", {"validate", "profiles/gpt2.yaml"});
  CHECK(ran.exit == 3);
  CHECK_THAT(ran.err, ContainsSubstring("standard output"));
}

TEST_CASE("every command has a help text with an example, and is in the completions and the manual") {
  const std::string bash = run_program({"completions", "bash"}).out;
  const std::string zsh = run_program({"completions", "zsh"}).out;
  const std::string fish = run_program({"completions", "fish"}).out;
  const std::string man = run_program({"man"}).out;
  const std::vector<std::string> names = entries(run_program({"--help"}).out, "Commands:");
  CHECK(names.size() >= 18);
  const std::string shared = section(man, ".SH OPTIONS OF EVERY COMMAND");
  std::set<std::string> options;
  for (const std::string& name : names) {
    INFO(name);
    const std::string help = run_program({name, "--help"}).out;
    CHECK_THAT(help, ContainsSubstring("Example"));
    const std::string own = section(man, ".SS llmcalc " + name);
    CHECK_FALSE(own.empty());
    for (const std::string& option : options_in(help)) {
      INFO(option);
      options.insert(option);
      CHECK((own + shared).find("\n.B " + in_roff(option)) != std::string::npos);
      CHECK_THAT(bash, ContainsSubstring(option));
      CHECK_THAT(fish, ContainsSubstring("-l " + option.substr(2)));
    }
    CHECK_THAT(bash, ContainsSubstring("\n    " + name + ") words="));
    CHECK_THAT(zsh, ContainsSubstring("'" + name + ":"));
    CHECK_THAT(fish, ContainsSubstring(" -a " + name + " "));
  }
  CHECK(options.size() >= 30);
  CHECK_THAT(bash, ContainsSubstring("llama-3-8b"));
  CHECK_THAT(bash, ContainsSubstring("--recompute) COMPREPLY=($(compgen -W 'none selective full'"));
}

TEST_CASE("the reference of all commands is what the program says of itself") {
  std::ifstream file(std::string(LLMCALC_SOURCE_DIR) + "/docs/reference/commands.md");
  const std::string reference{std::istreambuf_iterator<char>(file), {}};
  INFO("renew it: llmcalc man --format markdown > docs/reference/commands.md");
  CHECK(run_program({"man", "--format", "markdown"}).out == reference);
}
