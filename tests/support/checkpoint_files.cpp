#include "tests/support/checkpoint_files.hpp"

#include <stdexcept>

#include "tests/support/rows.hpp"

namespace llmcalc::test {

std::string little_endian(std::uint64_t number, unsigned bytes) {
  std::string text;
  for (unsigned i = 0; i < bytes; ++i) text += static_cast<char>(number >> (8 * i) & 0xFFU);
  return text;
}

std::vector<TestTensor> tensors_of(const std::string& text) {
  std::vector<TestTensor> tensors;
  for (const std::string& piece : split(text, ';')) {
    const std::size_t equals = piece.rfind('='), colon = piece.rfind(':');
    if (equals == std::string::npos || colon == std::string::npos) throw std::runtime_error("no tensor: " + piece);
    TestTensor tensor{piece.substr(0, equals), piece.substr(equals + 1, colon - equals - 1), {}};
    for (const std::string& length : split(piece.substr(colon + 1), 'x')) tensor.shape.push_back(std::stoull(length));
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

std::string with_length(const std::string& header) { return little_endian(header.size(), 8) + header; }

std::string safetensors_header(const std::vector<TestTensor>& tensors, std::uint64_t& data) {
  std::string header = R"({"__metadata__":{"format":"pt"})";
  data = 0;
  for (const TestTensor& tensor : tensors) {
    const std::uint64_t width = tensor.type == "F32" || tensor.type == "I32"    ? 4
                                : tensor.type == "BF16" || tensor.type == "F16" ? 2
                                : tensor.type == "I64"                          ? 8
                                                                                : 1;
    std::uint64_t bytes = width;
    std::string shape;
    for (const std::uint64_t length : tensor.shape) {
      bytes *= length;
      shape += (shape.empty() ? "" : ",") + std::to_string(length);
    }
    header += ",\"" + tensor.name + "\":{\"dtype\":\"" + tensor.type + "\",\"shape\":[" + shape +
              "],\"data_offsets\":[" + std::to_string(data) + "," + std::to_string(data + bytes) + "]}";
    data += bytes;
  }
  return with_length(header + "}");
}

std::string write_safetensors(const Folder& folder, const std::string& name, const std::vector<TestTensor>& tensors) {
  std::uint64_t data = 0;
  const std::string start = safetensors_header(tensors, data);
  return folder.write(name, start, start.size() + data);
}

std::string gguf_start(std::uint64_t tensors, std::uint64_t keys) {
  return "GGUF" + little_endian(3, 4) + little_endian(tensors, 8) + little_endian(keys, 8);
}

std::string gguf_text(const std::string& text) { return little_endian(text.size(), 8) + text; }

std::string gguf_key(const std::string& key, std::uint32_t type, const std::string& value) {
  return gguf_text(key) + little_endian(type, 4) + value;
}

std::string gguf_tensor(const std::string& name, const std::vector<std::uint64_t>& fastest_first, std::uint32_t type,
                        std::uint64_t place) {
  std::string text = gguf_text(name) + little_endian(fastest_first.size(), 4);
  for (const std::uint64_t length : fastest_first) text += little_endian(length, 8);
  return text + little_endian(type, 4) + little_endian(place, 8);
}

}  // namespace llmcalc::test
