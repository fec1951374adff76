// What the headers of a checkpoint's files say: its tensors by name, type, shape and bytes, never their values.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/dtype.hpp"
#include "core/layout.hpp"
#include "core/units.hpp"

namespace llmcalc {

// How a file stores numbers. Quantised types put several into a block with their scales.
struct StoredType {
  std::string_view name;       // as the format calls it: "BF16", "Q4_K"
  Count elements_of_block;     // 1 for plain numbers
  Count bits_of_block;         // with its scales
  std::optional<DType> dtype;  // PyTorch's, where it has it
};

struct StoredTensor {
  std::string name;
  const StoredType* type;  // never nullptr; lives as long as the program
  Dims shape;              // slowest dimension first, as PyTorch has it
  Bytes bytes;
};

struct Checkpoint {
  std::string format;              // "safetensors", "GGUF"
  std::vector<std::string> files;  // names, in the folder they are in
  Bytes on_disk;                   // of these files, headers included
  std::vector<StoredTensor> tensors;
  std::vector<std::pair<std::string, std::string>> metadata;  // what it says about itself, where that is short
  std::vector<std::string> notes;                             // what of the folder was left aside, and why
  bool complete = true;                                       // false: one file of several
};

// Bytes of so many elements of that type; nothing when they do not fill whole blocks and bytes. Throws Overflow.
std::optional<Bytes> stored_bytes(const StoredType& type, Count elements);

}  // namespace llmcalc
