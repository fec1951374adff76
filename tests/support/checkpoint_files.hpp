// Checkpoints for tests: headers as text or numbers, and files whose data is a hole, so that size costs nothing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/folder.hpp"

namespace llmcalc::test {

// So many bytes of a number, the lowest first.
std::string little_endian(std::uint64_t number, unsigned bytes);

struct TestTensor {
  std::string name, type;  // a safetensors type
  std::vector<std::uint64_t> shape;
};

// Of "name=TYPE:2x3;...".
std::vector<TestTensor> tensors_of(const std::string& text);

// A safetensors file with these tensors one after another; `data` receives the bytes of data that belong to it.
std::string safetensors_header(const std::vector<TestTensor>& tensors, std::uint64_t& data);
// A header given as text, behind its length.
std::string with_length(const std::string& header);
// Writes the file with all its data as a hole.
std::string write_safetensors(const Folder& folder, const std::string& name, const std::vector<TestTensor>& tensors);

// Pieces of a GGUF file, version 3.
std::string gguf_start(std::uint64_t tensors, std::uint64_t keys);
std::string gguf_text(const std::string& text);
std::string gguf_key(const std::string& key, std::uint32_t type, const std::string& value);
std::string gguf_tensor(const std::string& name, const std::vector<std::uint64_t>& fastest_first, std::uint32_t type,
                        std::uint64_t place);

}  // namespace llmcalc::test
