// Comma-separated values (RFC 4180).
#pragma once

#include <string>
#include <string_view>

namespace llmcalc::report {

// The text as one field: in quotes where it holds a comma, a quote or a line break.
std::string csv_field(std::string_view text);

}  // namespace llmcalc::report
