#include "core/value.hpp"

namespace llmcalc {

const Value* Value::find(std::string_view key) const {
  if (kind != Kind::map) return nullptr;
  for (const Entry& entry : map) {
    if (entry.key == key) return &entry.value;
  }
  return nullptr;
}

}  // namespace llmcalc
