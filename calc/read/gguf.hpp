// The header of a GGUF file, versions 2 and 3: what it says about the model, and which tensors are in it.
// The format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
#pragma once

#include <cstdint>
#include <istream>
#include <string>

#include "core/checkpoint.hpp"

namespace llmcalc {

// Adds the tensors of the file that `in` is at the start of, and those of its keys whose values are short (numbers,
// words; not the vocabulary). `size` is that of the whole file in bytes, `file` what messages call it. Throws
// Error(bad_input) that says what is wrong, and where: counts and lengths past the end, unknown types, names that the
// format does not allow or that come twice, sizes that overflow, data that overlaps, has gaps or ends early.
void read_gguf(std::istream& in, std::uint64_t size, const std::string& file, Checkpoint& into);

}  // namespace llmcalc
