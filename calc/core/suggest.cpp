#include "core/suggest.hpp"

#include <algorithm>
#include <cctype>
#include <limits>
#include <utility>

namespace llmcalc {
namespace {

// Names are short; a longer text is no slip of the pen, and comparing it would only cost time.
constexpr std::size_t longest_compared = 64;
// What a message shows of a text that may be a whole file.
constexpr std::size_t longest_shown = 60;

char folded(char c) {
  if (c == '_' || c == ' ') return '-';
  return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
}

std::string folded(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(), [](char c) { return folded(c); });
  return result;
}

// Whether every word between the dashes of `a`, two at least, is a word of `b`.
bool words_are_among(const std::string& a, const std::string& b) {
  const std::string all = "-" + b + "-";
  std::size_t words = 0;
  for (std::size_t start = 0; start <= a.size(); ++words) {
    const std::size_t end = std::min(a.find('-', start), a.size());
    if (all.find("-" + a.substr(start, end - start) + "-") == std::string::npos) return false;
    start = end + 1;
  }
  return words >= 2;
}

// How far a name is from a known one. Ids end in variants ("h100-sxm"): a name that is all of the beginning is what was
// meant, one that is near to the beginning or part of it, or leaves words out, costs one slip more.
std::size_t score(std::string_view name, std::string_view known) {
  std::size_t best = edit_distance(name, known);
  const std::string a = folded(name), b = folded(known);
  if (a.size() >= 2 && b.size() > a.size() && b.starts_with(a)) best = std::min<std::size_t>(best, b[a.size()] != '-');
  if (words_are_among(a, b)) best = std::min<std::size_t>(best, 1);
  const std::size_t dash = known.find('-');
  if (dash != std::string_view::npos && dash >= 2)
    best = std::min(best, edit_distance(name, known.substr(0, dash)) + 1);
  return best;
}

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
  if (a.size() > longest_compared || b.size() > longest_compared) return std::numeric_limits<std::size_t>::max() / 2;
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const char x = folded(a[i - 1]), y = folded(b[j - 1]);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (x != y)});
      if (i > 1 && j > 1 && x == folded(b[j - 2]) && y == folded(a[i - 2]))
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

std::vector<std::string> nearest(std::string_view name, const std::vector<std::string>& known, std::size_t most) {
  const std::size_t farthest = std::max<std::size_t>(1, name.size() / 3);
  std::vector<std::pair<std::size_t, std::string>> found;
  for (const std::string& candidate : known) {
    const std::size_t distance = score(name, candidate);
    if (distance <= farthest) found.emplace_back(distance, candidate);
  }
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> result;
  for (auto& [distance, candidate] : found) {
    if (result.size() == most || distance > found.front().first + 1) break;
    if (std::find(result.begin(), result.end(), candidate) == result.end()) result.push_back(candidate);
  }
  return result;
}

std::string did_you_mean(std::string_view name, const std::vector<std::string>& known, std::size_t most) {
  const std::vector<std::string> near = nearest(name, known, most);
  return near.empty() ? std::string() : "did you mean " + join(near, "or") + "?";
}

std::string in_quotes(std::string_view text) {
  static constexpr char hex[] = "0123456789abcdef";
  std::string result = "'";
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (i == longest_shown) return result + "...'";
    const auto c = static_cast<unsigned char>(text[i]);
    if (c >= 0x20 && c < 0x7f) {
      result += text[i];
    } else {
      result += "\\x";
      result += hex[c >> 4];
      result += hex[c & 15];
    }
  }
  return result + "'";
}

std::string join(const std::vector<std::string>& words, std::string_view last) {
  std::string result;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) result += i + 1 < words.size() ? ", " : " " + std::string(last) + " ";
    result += words[i];
  }
  return result;
}

}  // namespace llmcalc
