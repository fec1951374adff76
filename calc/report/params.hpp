// Parameter counts by part, as `llmcalc params` shows them.
#pragma once

#include <string>

#include "core/parameters.hpp"
#include "report/json.hpp"
#include "report/table.hpp"

namespace llmcalc::report {

// What stands above a report about a model.
struct ModelLabel {
  std::string name, source, architecture, status;  // the last two empty for a model known only by its size
};
Json label_json(const ModelLabel& model);
Json counts_json(const ParameterCounts& counts);

Json params_json(const ModelLabel& model, const Parameters& parameters, bool with_tensors);

// The counts in words, then a table of parts (and one of tensors). `markdown` makes Markdown tables of them.
std::string params_text(const ModelLabel& model, const Parameters& parameters, bool with_tensors, bool markdown,
                        Style style);

// How each count follows from the parts, with the values put in.
std::string explain_params(const ModelLabel& model, const Parameters& parameters, bool markdown, Style style);

// The table of parts, or of tensors, for CSV.
Table parts_table(const Parameters& parameters);
Table tensors_table(const Parameters& parameters);

}  // namespace llmcalc::report
