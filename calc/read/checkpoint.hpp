// From a path to what the headers of a checkpoint's files say. Values are never read: any size takes milliseconds.
#pragma once

#include <optional>
#include <string>

#include "core/checkpoint.hpp"

namespace llmcalc {

// True for the name of a file this reads: x.safetensors, x.gguf.
bool is_checkpoint_file(const std::string& path);

// The checkpoint in a folder, or in one file. In a folder: the files model.safetensors.index.json names; without it
// model.safetensors; else all *.safetensors; else one GGUF file, in one piece or in numbered ones. Nothing when a
// folder holds none. Throws Error(bad_input): a file that is damaged or lies, one that the index names and is not
// there, a tensor in two files, several GGUF checkpoints in one folder.
std::optional<Checkpoint> load_checkpoint(const std::string& path);

}  // namespace llmcalc
