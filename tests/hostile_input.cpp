// Input that nobody means well with, for each reader of text: refused or taken, in bounded time and memory, and never
// repeated at length. What each reader says about ordinary mistakes is in its own test.
#include <ctime>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/diagnostics.hpp"
#include "core/dtype.hpp"
#include "core/einsum/equation.hpp"
#include "core/einsum/rearrangement.hpp"
#include "core/number_format/stored.hpp"
#include "core/quantity.hpp"
#include "core/run.hpp"
#include "core/tensor_expression/expression.hpp"
#include "kernels/replay/backend.hpp"
#include "read/checkpoint.hpp"
#include "read/gguf.hpp"
#include "read/json.hpp"
#include "read/load.hpp"
#include "read/safetensors.hpp"
#include "read/yaml.hpp"
#include "tests/catch.hpp"
#include "tests/support/checkpoint_files.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

using Reader = std::pair<const char*, std::function<void(std::string_view)>>;

// A result that says why it is none, as an error does.
template <class T>
void take(const Parsed<T>& parsed) {
  if (!parsed) throw Error(Exit::bad_input, parsed.message);
}

// The header of a checkpoint's file that is `file` and nothing more.
void take_checkpoint(decltype(&read_gguf) read, const std::string& file) {
  std::istringstream in(file);
  Checkpoint found;
  read(in, file.size(), "input", found);
}

const std::vector<Reader> readers = {
    {"YAML", [](std::string_view text) { read_yaml(text, "input"); }},
    {"JSON", [](std::string_view text) { read_json(text, "input"); }},
    {"size", [](std::string_view text) { take(parse_bytes(text)); }},
    {"rate", [](std::string_view text) { take(parse_flop_rate(text)); }},
    {"duration", [](std::string_view text) { take(parse_duration(text)); }},
    {"count", [](std::string_view text) { take(parse_count(text)); }},
    {"large count", [](std::string_view text) { take(parse_large_count(text)); }},
    {"list of counts", [](std::string_view text) { take(parse_counts(text)); }},
    {"share", [](std::string_view text) { take(parse_fraction(text)); }},
    {"dtype", [](std::string_view text) { CHECK_FALSE(dtype_named(text).has_value()); }},
    {"stored number", [](std::string_view text) { number_format::parse_exact(text); }},
    {"shape", [](std::string_view text) { expression::parse_shape(text); }},
    {"operations", [](std::string_view text) { expression::parse(text); }},
    {"equation", [](std::string_view text) { einsum::parse_equation(text); }},
    {"pattern", [](std::string_view text) { einsum::parse_pattern(text, einsum::Rearrangement::rearrange); }},
    {"axes", [](std::string_view text) { einsum::parse_axis_lengths({std::string(text)}); }},
    {"run options",
     [](std::string_view text) {
       Diagnostics diagnostics;
       std::vector<GivenOption> given;
       for (const std::string& name : run_option_names()) given.push_back({name, std::string(text)});
       read_run_options(given, diagnostics);
       diagnostics.throw_if_errors();
     }},
    {"recording", [](std::string_view text) { replay::ReplayBackend(text, "input"); }},
    {"safetensors", [](std::string_view text) { take_checkpoint(read_safetensors, std::string(text)); }},
    {"safetensors header",
     [](std::string_view text) { take_checkpoint(read_safetensors, with_length(std::string(text))); }},
    {"GGUF", [](std::string_view text) { take_checkpoint(read_gguf, std::string(text)); }},
    {"GGUF keys", [](std::string_view text) { take_checkpoint(read_gguf, gguf_start(0, 1000) + std::string(text)); }},
    {"GGUF tensors",
     [](std::string_view text) { take_checkpoint(read_gguf, gguf_start(1000, 0) + std::string(text)); }},
    {"GGUF name",
     [](std::string_view text) { take_checkpoint(read_gguf, gguf_start(1, 0) + gguf_text(std::string(text))); }},
    {"GGUF list of texts",
     [](std::string_view text) {
       const std::string start = gguf_start(0, 1) + gguf_key("k", 9, little_endian(8, 4) + little_endian(1000, 8));
       take_checkpoint(read_gguf, start + std::string(text));
     }},
};

std::string repeated(std::string_view text, std::size_t bytes) {
  std::string all;
  all.reserve(bytes);
  while (all.size() < bytes) all += text;
  return all;
}

// What is wrong with how a reader took this text; "" when nothing is.
std::string misbehaves(const Reader& reader, std::string_view text) {
  constexpr std::size_t longest_message = 4096, most_diagnostics = 100;
  try {
    reader.second(text);
  } catch (const Error& error) {
    if (error.exit() != Exit::bad_input) return "another exit code than that of bad input";
    if (error.diagnostics().size() > most_diagnostics) return "more complaints than anybody reads";
    for (const Diagnostic& d : error.diagnostics()) {
      if (d.message.size() + d.hint.size() > longest_message) return "a message that repeats the input";
    }
  }
  return "";
}

// Peak memory of this process since the last forget_peak(), bytes.
std::size_t peak_memory() {
  std::ifstream status("/proc/self/status");
  std::string word;
  std::size_t kib = 0;
  while (status >> word) {
    if (word == "VmHWM:" && status >> kib) return kib * 1024;
  }
  FAIL("/proc/self/status does not tell the peak");
  return 0;
}

// Lowers the peak to what is in use now, or what came before could hide what comes.
void forget_peak() {
  std::ofstream clear("/proc/self/clear_refs");
  REQUIRE((clear << "5" << std::flush));
}

}  // namespace

TEST_CASE("hostile text: every reader is done with a quarter of a megabyte of it in seconds") {
  const std::string_view shapes[] = {"x",   "9",       "(",    "[",     "{",  "\"",   "-",  "- ",
                                     "? ",  "1,",      "a ",   "a b->", " ",  "\n",   "()", "...",
                                     "[1,", "{\"a\":", "\xff", ".t",    "1_", "1e9 ", ":",  std::string_view("\0", 1)};
  for (const std::string_view shape : shapes) {
    const std::string text = repeated(shape, 250'000);
    for (const Reader& reader : readers) {
      INFO(reader.first << " of many " << shape);
      const std::clock_t start = std::clock();  // processor time: other programs do not count
      CHECK(misbehaves(reader, text) == "");
      // What grows with the square takes minutes; a slow machine under a sanitizer takes seconds.
      CHECK(std::clock() - start < 20 * CLOCKS_PER_SEC);
    }
  }
}

TEST_CASE("hostile text: 100 MB are refused without being copied") {
  const std::string text(100'000'000, '9');
  forget_peak();
  const std::size_t before = peak_memory();
  REQUIRE(before != 0);
  CHECK_THROWS_AS(read_yaml(text, "input"), Error);
  CHECK_THROWS_AS(read_json(text, "input"), Error);
  CHECK(peak_memory() - before < 10'000'000);
}

TEST_CASE("hostile checkpoints: 100 MB of header are refused, and held once at most") {
  const std::string text(100'000'000, '9');
  const struct {
    decltype(&read_gguf) read;
    std::string file;
    std::size_t bytes;                                                  // it may take
  } rows[] = {{read_safetensors, with_length(text + "9"), 10'000'000},  // longer than the format allows
              {read_safetensors, with_length(text), 150'000'000},       // as long as it allows: once, not twice
              {read_gguf, gguf_start(0, 1) + gguf_text(text), 10'000'000}};
  for (const auto& row : rows) {
    std::istringstream in(row.file);
    Checkpoint found;
    forget_peak();
    const std::size_t before = peak_memory();
    CHECK_THROWS_AS(row.read(in, row.file.size(), "input", found), Error);
    CHECK(peak_memory() - before < row.bytes);
  }
}

TEST_CASE("hostile files: 100 MB are refused by their size, before they are read") {
  const Folder folder;
  const std::string path = folder.write("hostile.yaml", "\n", 100'000'000);  // a hole: takes no space
  forget_peak();
  const std::size_t before = peak_memory();
  REQUIRE(before != 0);
  Diagnostics diagnostics;
  const std::function<void()> loads[] = {
      [&] { load_model_document(path, diagnostics); },
      [&] { load_device(path, diagnostics); },
      [&] { load_run_file(path); },
      [&] { read_file(path, 64 << 20); },
  };
  for (const auto& load : loads) {
    try {
      load();
      FAIL_CHECK("accepted");
    } catch (const Error& error) {
      CHECK(error.exit() == Exit::bad_input);
      CHECK_THAT(error.what(), Catch::Matchers::ContainsSubstring("is larger than"));
    }
  }
  CHECK(peak_memory() - before < 10'000'000);
}
