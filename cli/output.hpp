// Writing to the standard streams: in one piece, and never silently in vain.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/diagnostics.hpp"

namespace llmcalc::cli {

// Call once, first: a closed stream stays closed even when files are opened later, and a closed pipe is an error
// that is reported rather than a signal that ends the program.
void prepare_streams();

// Throws Error(Exit::bad_input) when not everything could be written (full disk, closed pipe, closed stream).
void write_result(std::string_view text);

void write_diagnostics(const std::vector<Diagnostic>& diagnostics);  // to stderr, one or two lines each

std::size_t columns();  // of stdout
bool colour_wanted();   // stdout is a terminal that knows colour, and NO_COLOR is not set

}  // namespace llmcalc::cli
