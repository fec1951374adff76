// Files that are whole at any moment: written beside, then put in place.
#pragma once

#include <string>
#include <string_view>

namespace llmcalc::cli {

// Replaces `path` with `text`; a reader, or a power cut, finds the old file or the new one. What is no regular file (a
// pipe, a terminal) is written to directly. Throws Error(bad_input) with the system's reason.
void replace_file(const std::string& path, std::string_view text);

// Throws as replace_file would for that much text, and changes nothing. A special file is not tried.
void require_writable(const std::string& path, std::string_view text);

}  // namespace llmcalc::cli
