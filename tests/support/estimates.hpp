// Estimates of models written as config.json, as `llmcalc estimate` makes them.
#pragma once

#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "core/estimate.hpp"
#include "core/model_source.hpp"
#include "read/json.hpp"

namespace llmcalc::test {

inline ModelSource model_from(const Value& config) {
  Diagnostics diagnostics;
  ModelSource model = read_model(config, "config.json", false, "test", {}, diagnostics);
  diagnostics.throw_if_errors();
  return model;
}

inline ModelSource model_from_json(const std::string& text) { return model_from(read_json(text, "config.json")); }

// The text of tests/reference/<file>.
inline std::string reference_text(const std::string& file) {
  const std::string path = std::string(LLMCALC_SOURCE_DIR) + "/tests/reference/" + file;
  std::ifstream in(path);
  if (!in) throw std::runtime_error("cannot read " + path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

inline Report estimated(const ModelSource& model, const std::vector<GivenOption>& options,
                        const Device* device = nullptr) {
  Diagnostics diagnostics;
  const RunOptions run = read_run_options(options, diagnostics);
  diagnostics.throw_if_errors();
  return estimate(model, device, run);
}

}  // namespace llmcalc::test
