// From a document to a model: the family's builder reads the keys it knows; a profile with `parameters:` alone is a
// model known only by its size.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/model.hpp"

namespace llmcalc {

struct ModelSource {
  std::string name, source;
  const Architecture* architecture = nullptr;  // nullptr: known only by its size
  std::unique_ptr<Model> model;
  std::optional<Count> parameters, active_parameters;  // of a model known only by its size
  std::vector<Fields::Assumed> assumed;
  std::optional<std::string> read_as;  // the family --as named
  std::optional<DType> stored;         // what the document says its weights are stored in (dtype, torch_dtype)
  std::vector<std::string> reading;    // for scope: what of the document was read, and as what
};

// `id` names the model when the document does not. Problems go to `diagnostics`; throws Error(bad_input) with all of
// them when there was an error.
ModelSource read_model(const Value& root, const std::string& source, bool yaml, const std::string& id,
                       const std::optional<std::string>& as_family, Diagnostics& diagnostics);

// Throws Error(bad_input) where the model has no heads of multi-token prediction.
void check_prediction(const ModelSource& source);

}  // namespace llmcalc
