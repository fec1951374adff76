// A tensor and its views, as `llmcalc tensor` shows them.
#pragma once

#include <string>

#include "core/tensor_expression/evaluate.hpp"
#include "report/json.hpp"
#include "report/table.hpp"

namespace llmcalc::report {

Json tensor_json(const expression::TensorHistory& history);
Table tensor_table(const expression::TensorHistory& history);

// The first tensor in words, a table of steps, and the storages. `explain`: where sizes and strides come from.
std::string tensor_text(const expression::TensorHistory& history, bool explain, bool markdown, Style style);

// Bytes as people read them: "512 B", "1,536 B (0.001465 MiB, 0.001536 MB)".
std::string bytes_three_ways(Int128 bytes);

Json dims_json(const Dims& dims);

}  // namespace llmcalc::report
