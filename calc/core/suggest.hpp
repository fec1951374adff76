// "Did you mean ...?": the known names a misspelt one resembles.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace llmcalc {

// Insertions, deletions, replacements and swaps of neighbours that turn one into the other; letters of either case
// and `-`, `_`, space count as equal.
std::size_t edit_distance(std::string_view a, std::string_view b);

// The known names near enough to be what was meant, nearest first, at most `most`.
std::vector<std::string> nearest(std::string_view name, const std::vector<std::string>& known, std::size_t most = 3);

// "did you mean llama-3-8b?", "did you mean a, b or c?", or "" when nothing is near.
std::string did_you_mean(std::string_view name, const std::vector<std::string>& known, std::size_t most = 3);

// The text in quotes for a message: shortened when long, control characters and broken UTF-8 made visible.
std::string in_quotes(std::string_view text);

// "a", "a and b", "a, b and c" (or with another last word).
std::string join(const std::vector<std::string>& words, std::string_view last = "and");

}  // namespace llmcalc
