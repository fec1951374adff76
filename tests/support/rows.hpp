// The rows of tests/reference/*.tsv, by column name (tests/reference/README.md says what each column is).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/units.hpp"

namespace llmcalc::test {

struct Row {
  std::string file;
  int line = 0;
  std::map<std::string, std::string> columns;

  // Each throws std::runtime_error, naming file and line, when the column is not there or not of that kind.
  const std::string& text(const std::string& column) const;
  Count count(const std::string& column) const;
  Int128 large_count(const std::string& column) const;
  double number(const std::string& column) const;
  bool flag(const std::string& column) const;                                    // true, false
  std::map<std::string, std::string> settings(const std::string& column) const;  // a=1,b=2; empty for "-"
  std::string where() const { return file + ":" + std::to_string(line); }
};

// Every row of `tests/reference/<file>`; at least one, or it throws.
std::vector<Row> rows(const std::string& file);

// "a,b,c" in pieces; no piece for an empty text.
std::vector<std::string> split(const std::string& text, char separator);

}  // namespace llmcalc::test
