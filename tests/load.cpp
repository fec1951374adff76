// From a name or path to a document or a device: what wins, what is refused, what is suggested.
#include "read/load.hpp"

#include <sys/stat.h>

#include <filesystem>

#include "read/names.hpp"
#include "tests/catch.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/refusal.hpp"

using namespace llmcalc;
using Catch::Matchers::ContainsSubstring;
using test::Folder;
using test::refusal;
namespace fs = std::filesystem;

namespace {

std::string model_refusal(const std::string& name) {
  return refusal([&] {
    Diagnostics diagnostics;
    load_model_document(name, diagnostics);
  });
}

std::string device_refusal(const std::string& name) {
  return refusal([&] {
    Diagnostics diagnostics;
    load_device(name, diagnostics);
  });
}

Document model(const std::string& name) {
  Diagnostics diagnostics;
  return load_model_document(name, diagnostics);
}

Device device(const std::string& name) {
  Diagnostics diagnostics;
  return load_device(name, diagnostics);
}

const std::string profile = "schema: llmcalc.model/1\nname: x\nsource: test\nparameters: 1e9\n";

}  // namespace

TEST_CASE("loading: a model by path, folder and id") {
  const Folder folder;
  const Document yaml = model(folder.write("small.yaml", profile));
  CHECK(yaml.yaml);
  CHECK(yaml.id == "small");
  CHECK(yaml.root.find("parameters")->text == "1e9");
  const std::string json = folder.write("config.json", "{\"model_type\": \"llama\"}");
  CHECK_FALSE(model(json).yaml);
  CHECK(model(json).source == json);
  CHECK(model(json).id == fs::path(folder.path()).filename());
  CHECK(model(folder.path()).root.find("model_type")->text == "llama");
  CHECK(model(folder.path() + "/").id == fs::path(folder.path()).filename());
  CHECK_FALSE(model(folder.write("bare", " {\"model_type\": \"llama\"}")).yaml);  // by its first character
  const Document built_in = model("llama-3-8b");
  CHECK(built_in.source == "built-in");
  CHECK(built_in.id == "llama-3-8b");
  CHECK(built_in.yaml);
  CHECK(model("LLaMA-3-8B").id == "llama-3-8b");
}

TEST_CASE("loading: a file of that path wins over a built-in id") {
  const Folder folder;
  folder.write("llama-3-8b", profile);
  folder.write("h100-sxm", "schema: llmcalc.device/1\nname: mine\nmemory: {capacity: 1 GB}\npeak: {fp32: 1 TFLOP/s}\n");
  const fs::path before = fs::current_path();
  fs::current_path(folder.path());
  const std::string name = model("llama-3-8b").root.find("name")->text, device_name = device("h100-sxm").name;
  fs::current_path(before);
  CHECK(name == "x");
  CHECK(device_name == "mine");
}

TEST_CASE("loading: models that cannot be loaded") {
  const Folder folder;
  const fs::path here = folder.path();
  CHECK_THAT(model_refusal((here / "no.yaml").string()), ContainsSubstring("no.yaml: error: no such file"));
  CHECK_THAT(model_refusal(folder.path()), ContainsSubstring("holds no config.json"));
  for (const char* name : {"no.yaml", "no.YML", "no.json", "no.safetensors", "no.gguf", "no/no"})
    CHECK_THAT(model_refusal(name), ContainsSubstring(std::string(name) + ": error: no such file"));
  CHECK_THAT(refusal([&] { read_file(folder.path(), 1); }), ContainsSubstring("is a folder; a file is needed"));
  CHECK(model(folder.write("s.yml", profile)).yaml);
  CHECK_THAT(model_refusal("lama-3-8b"),
             ContainsSubstring("unknown model 'lama-3-8b'") && ContainsSubstring("did you mean llama-3-8b?"));
  CHECK_THAT(model_refusal("qqqqqqqqqq"), ContainsSubstring("llmcalc list models"));
  CHECK_THAT(model_refusal(""), ContainsSubstring("unknown model"));
  CHECK_THAT(model_refusal(folder.write("e.yaml", "")), ContainsSubstring("e.yaml: error: the file is empty"));
  CHECK_THAT(model_refusal(folder.write("e.json", "")), ContainsSubstring("e.json: error: the file is empty"));
  CHECK_THAT(model_refusal(folder.write("l.yaml", "- a\n")), ContainsSubstring("l.yaml:1:1: error: a model is a map"));
  CHECK_THAT(model_refusal(folder.write("n.json", "null")), ContainsSubstring("a model is a map"));
  CHECK_THAT(model_refusal(folder.write("s.yaml", "name: x\n")), ContainsSubstring("schema: is required and missing"));
  CHECK_THAT(model_refusal(folder.write("d.yaml", "schema: llmcalc.device/1\nname: 5\n")),
             ContainsSubstring("this is a device; a model is needed here") && ContainsSubstring("name: must be text"));
  CHECK_THAT(model_refusal(folder.write("big.json", std::string(17 << 20, ' '))),
             ContainsSubstring("larger than 16 MiB"));
  CHECK_THAT(model_refusal("/dev/zero"), ContainsSubstring("/dev/zero: error: is larger than 16 MiB"));
  CHECK_THAT(model_refusal("/dev/null"), ContainsSubstring("the file is empty"));
}

TEST_CASE("loading: an unreadable file is named") {
  if (::geteuid() == 0) return;  // root reads everything
  const Folder folder;
  const std::string path = folder.write("u.yaml", profile);
  ::chmod(path.c_str(), 0);
  CHECK_THAT(model_refusal(path), ContainsSubstring("cannot be opened"));
}

TEST_CASE("loading: a device by path, id, alias and driver's name, never by a part of one") {
  CHECK(device("h100-sxm").id == "h100-sxm");
  CHECK(device("H100-SXM").id == "h100-sxm");
  CHECK(device("h100-sxm5-80gb").id == "h100-sxm");
  CHECK(device("NVIDIA H100 80GB HBM3").id == "h100-sxm");
  CHECK(device("  nvidia  h100 80GB hbm3 ").id == "h100-sxm");
  CHECK(device("H100 80GB HBM3").id == "h100-sxm");  // without the vendor, as older drivers have it
  CHECK(device("h100-sxm").source == "built-in");
  for (const char* part : {"A100", "A1000", "NVIDIA", "H100 80GB", "NVIDIA A100", "RTX", "", " "}) {
    INFO(part);
    CHECK_THAT(device_refusal(part), ContainsSubstring("unknown device"));
  }
  CHECK_THAT(device_refusal("h900"), ContainsSubstring("h900") && ContainsSubstring("did you mean"));
  CHECK_THAT(device_refusal("h100"), ContainsSubstring("h100-sxm"));
  CHECK_THAT(device_refusal("./no.yaml"), ContainsSubstring("./no.yaml: error: no such file"));
}

TEST_CASE("loading: a name of two devices is refused, unless it says how much memory") {
  CHECK_THAT(device_refusal("NVIDIA GeForce RTX 3080"),
             ContainsSubstring("rtx-3080-10gb") && ContainsSubstring("rtx-3080-12gb"));
  CHECK(device("NVIDIA GeForce RTX 3080 12GB").id == "rtx-3080-12gb");
  CHECK(device("GeForce RTX 3080 10 GB").id == "rtx-3080-10gb");
  CHECK_THAT(device_refusal("NVIDIA GeForce RTX 3080 16GB"), ContainsSubstring("unknown device"));
  CHECK_THAT(device_refusal("NVIDIA H20 141GB"), ContainsSubstring("unknown device"));  // that one has 96
}

TEST_CASE("loading: memory sizes in names") {
  CHECK(memory_size_in("nvidia a100-sxm4-80gb")->gigabytes == 80);
  CHECK(memory_size_in("nvidia a100-sxm4-80gb")->rest == "nvidia a100-sxm4");
  CHECK(memory_size_in("nvidia a100 80 gb pcie")->rest == "nvidia a100 pcie");
  CHECK(memory_size_in("x 12gib")->gigabytes == 12);
  CHECK_FALSE(memory_size_in("rtx 3080").has_value());
  CHECK_FALSE(memory_size_in("gb200").has_value());
  CHECK_FALSE(memory_size_in("x80gb").has_value());
  CHECK_FALSE(memory_size_in("80gbx").has_value());
  CHECK_FALSE(memory_size_in("x 123456gb").has_value());  // no device's
  CHECK(memory_size_in("80gb")->rest.empty());
  CHECK(normal_name("\tA \r\n b\n") == "a b");
}

TEST_CASE("loading: a wrong device file is refused with all its problems, and the repaired one works") {
  const Folder folder;
  const std::string tail = "peak: {bf16: 1 TFLOP/s}\nsources: {peak: test, memory: test}\n";
  const std::string head = "schema: llmcalc.device/1\nname: x\n";
  const std::string all =
      device_refusal(folder.write("w.yaml", head + "memory: {capacity: 80, bandwith: 1 TB/s}\n" + tail));
  CHECK_THAT(all, ContainsSubstring("w.yaml:3:20: error: memory.capacity") && ContainsSubstring("bandwidth"));
  const Device repaired =
      device(folder.write("w.yaml", head + "memory: {capacity: 80 GB, bandwidth: 1 TB/s}\n" + tail));
  CHECK(repaired.name == "x");
  CHECK(repaired.id.empty());
}

TEST_CASE("loading: a run file is the map itself, or holds it") {
  const Folder folder;
  CHECK(load_run_file(folder.write("r.yaml", "seq: 5\n")).find("seq")->integer == 5);
  CHECK(load_run_file(folder.write("r.yaml", "run: {seq: 5}\n")).find("seq")->integer == 5);
  CHECK(load_run_file(folder.write("r.json", "{\"seq\": 5}")).find("seq")->integer == 5);
}

TEST_CASE("loading: every built-in profile is read without a complaint") {
  for (const std::string& id : built_in_model_ids()) {
    INFO(id);
    CHECK(model(id).id == id);
  }
  for (const std::string& id : built_in_device_ids()) {
    INFO(id);
    CHECK(built_in_device(id).id == id);
  }
  CHECK_THAT(refusal([] { built_in_device("nothing-like-it"); }), ContainsSubstring("unknown device"));
}
