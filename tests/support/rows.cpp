#include "tests/support/rows.hpp"

#include <fstream>
#include <sstream>
#include <stdexcept>

namespace llmcalc::test {
namespace {

[[noreturn]] void fail(const Row& row, const std::string& what) { throw std::runtime_error(row.where() + ": " + what); }

}  // namespace

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> pieces;
  std::istringstream stream(text);
  for (std::string piece; std::getline(stream, piece, separator);) pieces.push_back(piece);
  return pieces;
}

const std::string& Row::text(const std::string& column) const {
  const auto found = columns.find(column);
  if (found == columns.end()) fail(*this, "no column " + column);
  return found->second;
}

Int128 Row::large_count(const std::string& column) const {
  const std::string& digits = text(column);
  if (digits.empty()) fail(*this, column + " is empty");
  Int128 value = 0;
  for (char digit : digits) {
    if (digit < '0' || digit > '9') fail(*this, column + " is no count: " + digits);
    value = checked::add(checked::multiply<Int128>(value, 10), static_cast<Int128>(digit - '0'));
  }
  return value;
}

Count Row::count(const std::string& column) const {
  const Int128 value = large_count(column);
  if (value > std::numeric_limits<Count>::max()) fail(*this, column + " is too large");
  return static_cast<Count>(value);
}

double Row::number(const std::string& column) const {
  std::istringstream stream(text(column));
  double value = 0;
  if (!(stream >> value) || !stream.eof()) fail(*this, column + " is no number: " + text(column));
  return value;
}

bool Row::flag(const std::string& column) const {
  const std::string& word = text(column);
  if (word != "true" && word != "false") fail(*this, column + " is neither true nor false: " + word);
  return word == "true";
}

std::map<std::string, std::string> Row::settings(const std::string& column) const {
  std::map<std::string, std::string> values;
  if (text(column) == "-") return values;
  for (const std::string& setting : split(text(column), ',')) {
    const std::size_t equals = setting.find('=');
    if (equals == std::string::npos) fail(*this, column + " is no list of settings: " + text(column));
    values[setting.substr(0, equals)] = setting.substr(equals + 1);
  }
  return values;
}

std::vector<Row> rows(const std::string& file) {
  const std::string path = std::string(LLMCALC_SOURCE_DIR) + "/tests/reference/" + file;
  std::ifstream stream(path);
  std::vector<Row> result;
  std::vector<std::string> names;
  int line = 0;
  for (std::string text; std::getline(stream, text);) {
    ++line;
    if (text.empty() || text.front() == '#') continue;
    const std::vector<std::string> cells = split(text, '\t');
    if (names.empty()) {
      names = cells;
      continue;
    }
    Row row{file, line, {}};
    if (cells.size() != names.size()) fail(row, "another number of columns than names");
    for (std::size_t i = 0; i < cells.size(); ++i) row.columns[names[i]] = cells[i];
    result.push_back(std::move(row));
  }
  if (result.empty()) throw std::runtime_error(path + " has no rows");
  return result;
}

}  // namespace llmcalc::test
