// JSON of any kind: places lie inside the text and come in order.
#include "read/json.hpp"

#include <algorithm>

#include "tests/fuzz/target.hpp"

namespace {

void walk(const llmcalc::Value& value, int lines, int depth, int& line) {
  using llmcalc::fuzz::require;
  require(depth <= 64, "depth is bounded");
  require(value.place.line >= line && value.place.line <= lines, "lines come in order");
  require(value.place.column >= 1, "columns count from 1");
  line = value.place.line;
  for (const llmcalc::Value& item : value.list) walk(item, lines, depth + 1, line);
  for (const llmcalc::Entry& entry : value.map) walk(entry.value, lines, depth + 1, line);
}

void take(std::string_view input) {
  using namespace llmcalc;
  const Value root = read_json(input, "input");
  int line = 1;
  walk(root, static_cast<int>(std::count(input.begin(), input.end(), '\n')) + 1, 0, line);
}

}  // namespace

LLMCALC_FUZZ_TARGET(take)
