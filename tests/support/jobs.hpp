// Built-in models and devices as a command would load them, and traced steps of theirs.
#pragma once

#include <string>
#include <vector>

#include "core/resolve.hpp"
#include "read/load.hpp"

namespace llmcalc::test {

inline ModelSource built_in_model(const std::string& id) {
  Diagnostics diagnostics;
  const Document document = load_model_document(id, diagnostics);
  return read_model(document.root, document.source, document.yaml, document.id, {}, diagnostics);
}

inline RunOptions options_of(const std::vector<GivenOption>& given) {
  Diagnostics diagnostics;
  RunOptions options = read_run_options(given, diagnostics);
  diagnostics.throw_if_errors();
  return options;
}

struct TracedJob {
  ModelSource model;
  Device device;
  Resolved resolved;
  TracedStep step;
};

inline TracedJob traced_job(const std::string& model, const std::string& device,
                            const std::vector<GivenOption>& given) {
  ModelSource source = built_in_model(model);
  Device on = built_in_device(device);
  Resolved resolved = resolve(options_of(given), source, &on);
  TracedStep step = trace_step(*source.model, resolved.plan);
  return {std::move(source), std::move(on), std::move(resolved), std::move(step)};
}

}  // namespace llmcalc::test
