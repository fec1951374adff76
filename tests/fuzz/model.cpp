// A config.json or a model profile of any kind, from the text to the tensors of the model, without running it.
#include "core/model_source.hpp"
#include "read/json.hpp"
#include "read/yaml.hpp"
#include "tests/fuzz/target.hpp"

namespace {

void take(std::string_view input) {
  using namespace llmcalc;
  const bool is_json = !input.empty() && input.front() == '{';
  Diagnostics diagnostics;
  const Value root = is_json ? read_json(input, "input") : read_yaml(input, "input");
  const ModelSource model = read_model(root, "input", !is_json, "input", std::nullopt, diagnostics);
  fuzz::require(model.model || model.parameters, "a model has tensors or at least a size");
}

}  // namespace

LLMCALC_FUZZ_TARGET(take)
