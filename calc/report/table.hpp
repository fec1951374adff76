// One table, written as aligned text, Markdown, CSV or JSON.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "report/json.hpp"
#include "report/terminal.hpp"

namespace llmcalc::report {

enum class Align { left, right };

struct Column {
  std::string title;
  Align align = Align::left;
  std::string key = {};  // its name in CSV and JSON; empty: the title in small letters, with _ for spaces
};

// What stands in one place of a table. `exact` is what CSV and JSON get where people read something rounded ("8.03B"
// and 8030261248); without it they get the text, and JSON leaves out what is empty.
struct Cell {
  Cell(const char* shown) : text(shown) {}             // NOLINT(google-explicit-constructor)
  Cell(std::string shown) : text(std::move(shown)) {}  // NOLINT
  Cell(std::string shown, Json exactly) : text(std::move(shown)), exact(std::move(exactly)) {}

  std::string text;
  std::optional<Json> exact;
};

struct Table {
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows;  // a short row is filled up with empty cells
};

// Columns two spaces apart under their titles. When the table is wider than `width`, its last left-aligned column is
// wrapped.
std::string text_table(const Table& table, bool colour, std::size_t width = kReportWidth);
std::string markdown_table(const Table& table);
std::string csv_table(const Table& table);
Json json_table(const Table& table);  // an array with one object a row

}  // namespace llmcalc::report
