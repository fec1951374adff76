// A GGUF file of any kind: what is accepted fits into the file.
#include "read/gguf.hpp"

#include <sstream>
#include <string>

#include "tests/fuzz/target.hpp"

namespace {

void take(std::string_view input) {
  using namespace llmcalc;
  std::istringstream in{std::string(input)};
  Checkpoint found;
  read_gguf(in, input.size(), "input", found);
  Bytes sum;
  for (const StoredTensor& tensor : found.tensors) {
    fuzz::require(tensor.type && stored_bytes(*tensor.type, elements(tensor.shape)) == tensor.bytes,
                  "a tensor has the bytes of its type and shape");
    sum += tensor.bytes;
  }
  fuzz::require(sum < Bytes(static_cast<Count>(input.size())), "tensors lie in the file");
  for (const auto& [key, value] : found.metadata) fuzz::require(value.size() < 1000, "only short values are kept");
}

}  // namespace

LLMCALC_FUZZ_TARGET(take)
