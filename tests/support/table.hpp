// A reference table against the program, and the proof that the comparison can fail.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/layout.hpp"
#include "core/parameters.hpp"
#include "tests/support/rows.hpp"

namespace llmcalc::test {

// What the program gives for one row, held against the row column by column.
class Comparison {
 public:
  explicit Comparison(const Row& row) : row_(&row) {}

  void equal(const std::string& column, const std::string& found);  // the same text
  void equal(const std::string& column, Int128 found);
  void equal(const std::string& column, Count found);
  void equal(const std::string& column, bool found);
  void near(const std::string& column, double found, double tolerance);  // at most `tolerance` away

  struct Compared {
    bool agrees = false;
    std::string found;
    double tolerance = 0;  // of `near`
  };
  const std::map<std::string, Compared>& columns() const { return columns_; }

 private:
  const Row* row_;
  std::map<std::string, Compared> columns_;
};

struct Table {
  std::string file;             // of tests/reference
  std::set<std::string> given;  // columns that say what a row is; every other one must be compared in some row
  std::function<void(const Row&, Comparison&)> compare;
  std::size_t least_rows = 1;  // in which something is compared, at least
  // Another text for a cell, which the program cannot have given; the default changes the last digit.
  std::function<std::string(const std::string&)> falsify = {};
};

// "file:line column: 5 in the table, 4 found" for each cell of `rows` that disagrees.
std::vector<std::string> disagreements(const Table& table, const std::vector<Row>& rows);

// Checks that no row disagrees. Then falsifies, for each column, one cell in a copy of the table, and checks that this
// cell is reported, and nothing but this cell.
void check_table(const Table& table);

// As the tables write a shape: "(2,3)".
std::string in_brackets(const Dims& shape);

// The columns of the tables of parameters.
void compare_parameters(const Parameters& parameters, Comparison& comparison);

}  // namespace llmcalc::test
