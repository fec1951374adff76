#include "read/load.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "core/suggest.hpp"
#include "read/builtin.hpp"
#include "read/device.hpp"
#include "read/json.hpp"
#include "read/names.hpp"
#include "read/schema.hpp"
#include "read/yaml.hpp"

namespace llmcalc {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t largest_file = 16 * 1024 * 1024;  // bytes; of a config.json, YAML has a tighter limit

[[noreturn]] void refuse_file(const std::string& path, const std::string& message, const std::string& hint = {}) {
  throw Error(Exit::bad_input, {{Severity::error, {path, 0, 0, {}}, message, hint}});
}

std::string ending_of(const std::string& path) {
  std::string ending = fs::path(path).extension().string();
  std::transform(ending.begin(), ending.end(), ending.begin(),
                 [](char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); });
  return ending;
}

bool exists(const std::string& path) {
  std::error_code ignored;
  return !path.empty() && fs::exists(path, ignored);
}

bool is_folder(const std::string& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

// A name that can only be meant as a path.
bool looks_like_path(const std::string& name) {
  const std::string ending = ending_of(name);
  return name.find('/') != std::string::npos || ending == ".yaml" || ending == ".yml" || ending == ".json" ||
         ending == ".safetensors" || ending == ".gguf";
}

// JSON by its name, else by its first character: a profile starts with a key.
bool is_json(const std::string& path, const std::string& text) {
  const std::string ending = ending_of(path);
  if (ending == ".json") return true;
  if (ending == ".yaml" || ending == ".yml") return false;
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string::npos && text[first] == '{';
}

// What to call the model of a file: its name without the ending; a config.json is named by its folder.
std::string id_of(const std::string& path) {
  const fs::path file(path);
  if (file.filename() != "config.json") return file.stem().string();
  std::error_code problem;
  const fs::path folder = fs::weakly_canonical(file, problem).parent_path();
  return problem || !folder.has_filename() ? file.stem().string() : folder.filename().string();
}

Document parse_file(const std::string& path) {
  const std::string text = read_file(path, largest_file);
  Document document;
  document.source = path;
  document.yaml = !is_json(path, text);
  document.id = id_of(path);
  document.root = document.yaml ? read_yaml(text, path) : read_json(text, path);
  return document;
}

void check_model(const Document& document, Diagnostics& diagnostics) {
  if (document.root.kind != Value::Kind::map) {
    diagnostics.error(document.root.place, "a model is a map of keys and values; this is something else");
  } else if (document.yaml) {
    check_schema(document.root, model_schema, diagnostics);
    for (const char* key : {"name", "architecture", "source"}) {
      const Value* value = document.root.find(key);
      if (value && value->kind != Value::Kind::text) diagnostics.error(value->place, "must be text");
    }
  }
  diagnostics.throw_if_errors();
}

Document load_folder(const std::string& folder) {
  const std::string path = (fs::path(folder) / "config.json").string();
  if (!exists(path)) refuse_file(folder, "this folder holds no config.json", "name the file, or a folder that has one");
  return parse_file(path);
}

template <class BuiltIns>
std::vector<std::string> ids(const BuiltIns& built_ins) {
  std::vector<std::string> result;
  for (const BuiltIn& built_in : built_ins) result.emplace_back(built_in.id);
  return result;
}

}  // namespace

std::string read_file(const std::string& path, std::size_t limit) {
  std::error_code problem;
  const fs::file_status status = fs::status(path, problem);
  if (!fs::exists(status)) refuse_file(path, "no such file");
  if (fs::is_directory(status)) refuse_file(path, "is a folder; a file is needed");
  constexpr std::size_t mebi = 1024 * 1024;
  const std::string too_large = "is larger than " + std::to_string(limit / mebi) + " MiB; a profile has a few KiB";
  if (fs::is_regular_file(status) && fs::file_size(path, problem) > limit && !problem) refuse_file(path, too_large);
  std::ifstream file(path, std::ios::binary);
  if (!file) refuse_file(path, "cannot be opened for reading");
  // A pipe or a device has no size: read on, but never more than the limit.
  std::string text;
  char buffer[1 << 14];
  while (file.read(buffer, sizeof buffer) || file.gcount() > 0) {
    text.append(buffer, static_cast<std::size_t>(file.gcount()));
    if (text.size() > limit) refuse_file(path, too_large);
  }
  if (file.bad()) refuse_file(path, "cannot be read");
  return text;
}

Document load_file(const std::string& path) { return is_folder(path) ? load_folder(path) : parse_file(path); }

Document load_model_document(const std::string& name_or_path, Diagnostics& diagnostics) {
  Document document;
  if (exists(name_or_path)) {
    document = load_file(name_or_path);
  } else {
    const std::string id = normal_name(name_or_path);
    const auto models = builtin_models();
    const auto found = std::find_if(models.begin(), models.end(), [&](const BuiltIn& b) { return b.id == id; });
    if (found == models.end()) {
      const std::string near = did_you_mean(name_or_path, built_in_model_ids());
      if (looks_like_path(name_or_path)) refuse_file(name_or_path, "no such file", near);
      throw Error(Exit::bad_input, "unknown model " + in_quotes(name_or_path) + ": no file and no built-in id",
                  near.empty() ? "`llmcalc list models` shows the built-in ones" : near);
    }
    document.root = read_yaml(found->text, "built-in " + id);
    document.source = "built-in";
    document.yaml = true;
    document.id = id;
  }
  check_model(document, diagnostics);
  return document;
}

Device load_device(const std::string& name_or_path, Diagnostics& diagnostics) {
  if (!exists(name_or_path)) {
    if (looks_like_path(name_or_path)) refuse_file(name_or_path, "no such file");
    return find_device(name_or_path, diagnostics);
  }
  const std::string text = read_file(name_or_path, largest_file);
  Device device = read_device(read_yaml(text, name_or_path), name_or_path, diagnostics);
  diagnostics.throw_if_errors();
  return device;
}

Value load_run_file(const std::string& path) {
  Document document = parse_file(path);
  const Value* run = document.root.find("run");
  return run ? Value(*run) : std::move(document.root);
}

std::vector<std::string> built_in_model_ids() { return ids(builtin_models()); }
std::vector<std::string> built_in_device_ids() { return ids(builtin_devices()); }

Device built_in_device(std::string_view id) {
  Diagnostics diagnostics;
  return find_device(std::string(id), diagnostics);
}

}  // namespace llmcalc
