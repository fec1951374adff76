// A safetensors file of any kind; and any text as the header of one with 64 bytes of data, which is how the corpus has
// it. What is accepted fits into the file, each byte of the data belonging to one tensor.
#include "read/safetensors.hpp"

#include <sstream>
#include <string>

#include "tests/fuzz/target.hpp"

namespace {

constexpr std::size_t data_bytes = 64;

void read(const std::string& file) {
  using namespace llmcalc;
  std::istringstream in(file);
  Checkpoint found;
  read_safetensors(in, file.size(), "input", found);
  Bytes sum;
  for (const StoredTensor& tensor : found.tensors) {
    fuzz::require(tensor.type && stored_bytes(*tensor.type, elements(tensor.shape)) == tensor.bytes,
                  "a tensor has the bytes of its type and shape");
    sum += tensor.bytes;
  }
  fuzz::require(sum < Bytes(static_cast<Count>(file.size())), "tensors lie in the file");
}

void take_file(std::string_view input) { read(std::string(input)); }

void take(std::string_view input) {
  llmcalc::fuzz::run(take_file, reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
  std::string file;
  for (unsigned byte = 0; byte < 8; ++byte) file += static_cast<char>(input.size() >> (8 * byte) & 0xFFU);
  read(file + std::string(input) + std::string(data_bytes, '\0'));
}

}  // namespace

LLMCALC_FUZZ_TARGET(take)
