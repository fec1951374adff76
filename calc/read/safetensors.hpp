// The header of a safetensors file: which tensors are in it. Their values are never read.
// The format: https://github.com/huggingface/safetensors (8 bytes of length, a JSON header, the data without gaps).
#pragma once

#include <cstdint>
#include <istream>
#include <string>

#include "core/checkpoint.hpp"

namespace llmcalc {

// Adds the tensors of the file that `in` is at the start of, and the text entries of its metadata. `size` is that of
// the whole file in bytes, `file` what messages call it. Refuses what the format's own library refuses, by
// Error(bad_input) that says what is wrong with which tensor: a header longer than 100 MB or than the file, no JSON,
// unknown types, sizes that overflow or are not those of type and shape, data that overlaps, has gaps or ends early.
void read_safetensors(std::istream& in, std::uint64_t size, const std::string& file, Checkpoint& into);

}  // namespace llmcalc
