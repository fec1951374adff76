// From what stands on the command line (a path, a folder, a built-in id, a driver's name) to a document or a device.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/device.hpp"
#include "core/diagnostics.hpp"
#include "core/value.hpp"

namespace llmcalc {

struct Document {
  Value root;          // a map
  std::string source;  // the path, or "built-in"
  bool yaml = false;   // else JSON
  std::string id;      // of a built-in; for a file its name without the ending, for a config.json its folder's name
};

// The profile or config.json called `name_or_path`. A file of that path wins over a built-in id. The schema of a YAML
// profile is checked, its keys are not. Throws Error(bad_input): no such file or id (with the nearest ids), a folder
// without config.json, unreadable, not YAML or JSON.
Document load_model_document(const std::string& name_or_path, Diagnostics& diagnostics);

// The device called `name_or_path`: a file, an id, an alias, or the name a driver reports. Names match as a whole
// (case and spacing aside), never in part. Throws Error(bad_input) when unknown, when two devices share the name and
// no memory size in it tells them apart, or when the profile is wrong (with all its problems).
Device load_device(const std::string& name_or_path, Diagnostics& diagnostics);

// A file of either kind, for `validate`: only the syntax is checked. The path is not looked up among the built-ins.
Document load_file(const std::string& path);

// The `run:` part of a model profile or a whole file given with --run: a map of run options.
Value load_run_file(const std::string& path);

std::vector<std::string> built_in_model_ids();
std::vector<std::string> built_in_device_ids();
// Parses a built-in device; for lists. Throws Error(bad_input) when `id` is none.
Device built_in_device(std::string_view id);

// The contents of a file, at most `limit` bytes of it being acceptable. Throws Error(bad_input).
std::string read_file(const std::string& path, std::size_t limit);

}  // namespace llmcalc
