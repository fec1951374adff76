// A model around a language model (to see, to hear): its configuration holds the language model's as text_config.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/diagnostics.hpp"
#include "core/fields.hpp"
#include "core/value.hpp"

namespace llmcalc {

struct Wrapped {
  Value text;                            // the language model's configuration, as the library would complete it
  std::string wrapper;                   // model_type of the whole
  std::vector<Fields::Assumed> assumed;  // keys put into `text`
};

// The language model inside `root`; nothing when `root` describes a language model itself. A wrapper that is not known
// here is looked into only when --as says what its language model is (`as_family`).
std::optional<Wrapped> language_model_in(const Value& root, bool as_family);

}  // namespace llmcalc
