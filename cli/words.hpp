// Lists of words in help texts and messages.
#pragma once

#include <string>
#include <vector>

namespace llmcalc::cli {

inline std::string joined(const std::vector<std::string>& words, const char* separator = " ") {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : separator) + word;
  return text;
}

}  // namespace llmcalc::cli
