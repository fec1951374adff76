#include "core/checkpoint.hpp"

namespace llmcalc {

std::optional<Bytes> stored_bytes(const StoredType& type, Count elements) {
  constexpr Count bits_of_byte = 8;
  if (elements % type.elements_of_block != 0) return std::nullopt;
  const Count bits = checked::multiply(elements / type.elements_of_block, type.bits_of_block);
  if (bits % bits_of_byte != 0) return std::nullopt;
  return Bytes(bits / bits_of_byte);
}

}  // namespace llmcalc
