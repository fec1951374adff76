// What one compute unit does per clock: the table that stated peaks are re-derived from.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace llmcalc {

// FLOPs (operations, for integer keys) per clock and compute unit of a rate class ("GH100") under a peak key
// ("bf16"), dense. Nothing when the class has no such path, its rate is not known, or the class is not in the table.
std::optional<int> operations_per_clock(std::string_view rate_class, std::string_view key);

bool is_rate_class(std::string_view name);
std::vector<std::string> rate_class_names();

// Whether a peak under this key is one of the vector units, which some vendors state at a clock of its own
// (ComputeUnits::vector_clock); the fp64 tensor rate is stated at that clock too.
bool is_vector_rate(std::string_view key);

}  // namespace llmcalc
