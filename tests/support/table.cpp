#include "tests/support/table.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "tests/catch.hpp"

namespace llmcalc::test {

namespace {

// The last digit is another one; "true", "false" and "error" are the opposite; other words get a letter more.
std::string with_another_last_digit(const std::string& cell) {
  if (cell == "true") return "false";
  if (cell == "false") return "true";
  if (cell == "error") return "(7)";
  std::string changed = cell;
  const std::size_t last = changed.find_last_of("0123456789");
  if (last == std::string::npos) return changed + "x";
  changed[last] = changed[last] == '9' ? '8' : static_cast<char>(changed[last] + 1);
  return changed;
}

// A number just outside of the tolerance, wherever within it the program's is.
std::string beyond(const std::string& cell, double tolerance) {
  char text[40];
  std::snprintf(text, sizeof text, "%.17g", std::stod(cell) + 2.01 * tolerance);
  return text;
}

// "1x110105600;27x794465344": each kind of layer as count x parameters, in rising order.
std::string layers_of(const Parameters& parameters) {
  std::vector<std::pair<Count, Count>> kinds;
  for (std::size_t i = 0; i < parameters.kinds().size(); ++i)
    kinds.emplace_back(static_cast<Count>(parameters.kinds()[i].layers.size()),
                       layer_elements(parameters, static_cast<int>(i)));
  std::sort(kinds.begin(), kinds.end());
  std::string text;
  for (const auto& [count, size] : kinds)
    text += (text.empty() ? "" : ";") + std::to_string(count) + "x" + std::to_string(size);
  return text;
}

std::string place_of(const Row& row, const std::string& column) { return row.where() + " " + column + ": "; }

std::string describe(const Row& row, const std::string& column, const std::string& found) {
  return place_of(row, column) + row.text(column) + " in the table, " + found + " found";
}

// Does a falsified cell of this column, in a row from the middle, come to light? One row to each side stays true.
void check_that_it_can_fail(const Table& table, const std::vector<Row>& rows, const std::string& column,
                            const std::vector<std::size_t>& compared_in) {
  const std::size_t at = compared_in[compared_in.size() / 2];
  const std::size_t first = at == 0 ? 0 : at - 1;
  std::vector<Row> copy(rows.begin() + static_cast<std::ptrdiff_t>(first),
                        rows.begin() + static_cast<std::ptrdiff_t>(std::min(at + 2, rows.size())));
  Row& planted = copy[at - first];
  Comparison before(planted);
  table.compare(planted, before);
  const Comparison::Compared& cell = before.columns().at(column);
  if (cell.tolerance != 0) {
    planted.columns[column] = beyond(planted.text(column), cell.tolerance);
  } else {
    planted.columns[column] = (table.falsify ? table.falsify : with_another_last_digit)(planted.text(column));
  }
  INFO("planted in " << table.file << ", column " << column);
  const std::vector<std::string> reported = disagreements(table, copy);
  REQUIRE(reported.size() == 1);
  CHECK(reported[0].rfind(place_of(planted, column), 0) == 0);
}

}  // namespace

void Comparison::equal(const std::string& column, const std::string& found) {
  columns_[column] = {row_->text(column) == found, found, 0};
}

void Comparison::equal(const std::string& column, Int128 found) { equal(column, to_string(found)); }

void Comparison::equal(const std::string& column, Count found) { equal(column, std::to_string(found)); }

void Comparison::equal(const std::string& column, bool found) { equal(column, std::string(found ? "true" : "false")); }

void Comparison::near(const std::string& column, double found, double tolerance) {
  columns_[column] = {std::abs(row_->number(column) - found) <= tolerance, std::to_string(found), tolerance};
}

std::vector<std::string> disagreements(const Table& table, const std::vector<Row>& rows) {
  std::vector<std::string> found;
  for (const Row& row : rows) {
    Comparison comparison(row);
    table.compare(row, comparison);
    for (const auto& [column, cell] : comparison.columns())
      if (!cell.agrees) found.push_back(describe(row, column, cell.found));
  }
  return found;
}

void check_table(const Table& table) {
  const std::vector<Row> all = rows(table.file);
  std::map<std::string, std::vector<std::size_t>> compared_in;
  std::size_t compared_rows = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    INFO(all[i].where());
    Comparison comparison(all[i]);
    table.compare(all[i], comparison);
    for (const auto& [column, cell] : comparison.columns()) {
      compared_in[column].push_back(i);
      if (!cell.agrees) FAIL_CHECK(describe(all[i], column, cell.found));
    }
    compared_rows += !comparison.columns().empty();
  }
  INFO(table.file);
  CHECK(compared_rows >= table.least_rows);
  for (const auto& [column, _] : all.front().columns) {
    INFO("column " << column);
    CHECK((table.given.count(column) != 0) != (compared_in.count(column) != 0));
  }
  for (const auto& [column, where] : compared_in) check_that_it_can_fail(table, all, column, where);
}

std::string in_brackets(const Dims& shape) {
  std::string text;
  for (Count length : shape) text += (text.empty() ? "" : ",") + std::to_string(length);
  return "(" + text + ")";
}

void compare_parameters(const Parameters& parameters, Comparison& comparison) {
  const ParameterCounts counts = count_parameters(parameters);
  comparison.equal("total", counts.total);
  comparison.equal("active", counts.active);
  comparison.equal("compute", counts.compute);
  comparison.equal("embedding", counts.embedding);
  comparison.equal("head", counts.head);
  comparison.equal("tied", counts.tied);
  comparison.equal("layers", layers_of(parameters));
}

}  // namespace llmcalc::test
