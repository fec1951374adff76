// docs/reference/profile-keys.md names the keys that the readers ask for: those of architectures are collected from the
// readers themselves, those of devices and of `run:` are held against every built-in profile and the table of options.
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>

#include "core/run.hpp"
#include "read/builtin.hpp"
#include "read/device.hpp"
#include "read/load.hpp"
#include "read/yaml.hpp"
#include "tests/catch.hpp"
#include "tests/support/estimates.hpp"
#include "tests/support/rows.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

const std::string path = std::string(LLMCALC_SOURCE_DIR) + "/docs/reference/profile-keys.md";
const std::string begin = "<!-- written by the test profile_keys -->\n", end = "<!-- end -->\n";

std::string page() {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

using Keys = std::map<std::string, std::set<std::string>>;  // by architecture

// What the reader of this document's architecture asks for, whatever the document holds.
void collect(const Value& root, Keys& keys) {
  const Value* name = root.find("architecture") ? root.find("architecture") : root.find("model_type");
  const Architecture* architecture = name ? architecture_named(name->text) : nullptr;
  if (!architecture) return;
  Diagnostics diagnostics;
  Fields fields(root, diagnostics);
  architecture->build(fields);
  keys[std::string(architecture->name)].insert(fields.known().begin(), fields.known().end());
}

Keys keys_of_architectures() {
  Keys keys;
  Diagnostics diagnostics;
  for (const std::string& id : built_in_model_ids()) collect(load_model_document(id, diagnostics).root, keys);
  for (const Entry& entry : read_json(reference_text("activation_configs.json"), "activation_configs.json").map)
    collect(entry.value, keys);
  for (const Row& row : rows("parameter_variants.tsv"))
    collect(read_json(row.text("config"), "parameter_variants.tsv"), keys);
  collect(read_json(R"({"architecture": "transformer", "hidden_size": 128, "layers": 2, "heads": 8, "vocab_size": 500,
                        "mlp_size": 352, "experts": 4, "experts_per_token": 2, "positions": "rotary", "window": 16})",
                    "plain"),
          keys);
  return keys;
}

std::string in_backticks(const std::set<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "`" : ", `") + name + "`";
  return text;
}

// One row for all architectures that ask for the same keys.
std::string table_of(const Keys& keys) {
  std::map<std::set<std::string>, std::set<std::string>> alike;
  for (const auto& [architecture, names] : keys) alike[names].insert(architecture);
  std::map<std::string, std::string> lines;
  for (const auto& [names, architectures] : alike)
    lines[*architectures.begin()] = "| " + in_backticks(architectures) + " | " + in_backticks(names) + " |\n";
  std::string text = "| architecture | keys |\n|---|---|\n";
  for (const auto& [_, line] : lines) text += line;
  return text;
}

// Every key of the map, those of maps inside it with a dot; `sources` and `waived` are named after what they are about.
void names_in(const Value& map, const std::string& prefix, std::set<std::string>& names) {
  for (const Entry& entry : map.map) {
    const bool nested = entry.value.kind == Value::Kind::map && entry.key != "sources" && entry.key != "waived";
    if (nested) {
      names_in(entry.value, prefix + entry.key + ".", names);
    } else {
      names.insert(prefix + entry.key);
    }
  }
}

// "| `memory.l2` | `50 MiB` | ..." as {"memory.l2", "50 MiB"}.
std::vector<std::pair<std::string, std::string>> examples_in(const std::string& section) {
  std::vector<std::pair<std::string, std::string>> found;
  for (const std::string& line : split(section, '\n')) {
    const std::vector<std::string> pieces = split(line, '`');
    if (line.rfind("| `", 0) == 0 && pieces.size() >= 5) found.emplace_back(pieces[1], pieces[3]);
  }
  return found;
}

// "a.b" and "1" as "a: {b: 1}".
std::string as_yaml(const std::string& key, const std::string& value) {
  std::string text, closing;
  for (const std::string& part : split(key, '.')) {
    text += (text.empty() ? "" : "{") + part + ": ";
    closing += "}";
  }
  return text + value + closing.substr(1) + "\n";
}

}  // namespace

TEST_CASE("the page has the keys of every architecture", "[docs]") {
  const Keys keys = keys_of_architectures();
  for (const Architecture& architecture : architectures()) {
    INFO(architecture.name << ": no profile and no reference row has it, so its keys cannot be collected");
    CHECK(keys.count(std::string(architecture.name)) == 1);
  }
  std::string text = page();
  const std::size_t from = text.find(begin), to = text.find(end);
  REQUIRE(from != std::string::npos);
  REQUIRE(to != std::string::npos);
  const std::string wanted = table_of(keys);
  if (std::getenv("LLMCALC_APPROVE")) {
    text.replace(from + begin.size(), to - from - begin.size(), wanted);
    std::ofstream(path) << text;
    return;
  }
  INFO("renew the page: LLMCALC_APPROVE=1 ctest -R profile_keys");
  CHECK((text.substr(from + begin.size(), to - from - begin.size()) == wanted));
}

TEST_CASE("the page has every key that a built-in device has", "[docs]") {
  const std::string text = page();
  std::set<std::string> used;
  for (const BuiltIn& device : builtin_devices()) names_in(read_yaml(device.text, std::string(device.id)), "", used);
  CHECK(used.size() > 30);
  for (const std::string& key : used) {
    INFO(key);
    CHECK(text.find("| `" + key + "` |") != std::string::npos);
  }
}

TEST_CASE("the reader of devices knows every key that the page has, and takes the example", "[docs]") {
  const std::string text = page();
  const auto examples = examples_in(text.substr(text.find("## Device")));
  CHECK(examples.size() > 30);
  const auto complaints_about = [](const std::string& key, const std::string& value) {
    Diagnostics diagnostics;
    read_device(read_yaml(as_yaml(key, value), "page.yaml"), "page.yaml", diagnostics, Purpose::use);
    std::size_t about = 0;  // others are about what is required and missing
    for (const Diagnostic& diagnostic : diagnostics.all())
      if (diagnostic.place.line != 0 && diagnostic.place.key == key) ++about;
    return about;
  };
  for (const auto& [key, value] : examples) {
    INFO(key);
    CHECK(complaints_about(key, value) == 0);
  }
  CHECK(complaints_about("memory.l3", "50 MiB") == 1);
  CHECK(complaints_about("peak.bf17", "1 TFLOP/s") == 1);
}

TEST_CASE("the page has every option that may stand under run", "[docs]") {
  const std::string text = page();
  const std::string section = text.substr(text.find("## `run:`"));
  for (const std::string& name : run_option_names()) {
    INFO(name);
    CHECK(section.find("`" + name + "`") != std::string::npos);
  }
}
