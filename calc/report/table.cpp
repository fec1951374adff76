#include "report/table.hpp"

#include <algorithm>
#include <cctype>

#include "report/csv.hpp"
#include "report/layout.hpp"
#include "report/terminal.hpp"

namespace llmcalc::report {

namespace {

constexpr std::size_t kGap = 2;
constexpr std::size_t kLeastWrapped = 16;  // a wrapped column is not made narrower than this

const std::string& cell_text(const std::vector<Cell>& row, std::size_t column) {
  static const std::string none;
  return column < row.size() ? row[column].text : none;
}

std::vector<std::size_t> natural_widths(const Table& table) {
  std::vector<std::size_t> widths;
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    std::size_t width = display_width(table.columns[c].title);
    for (const auto& row : table.rows) width = std::max(width, display_width(printable(cell_text(row, c))));
    widths.push_back(width);
  }
  return widths;
}

// Takes what is too much from the last left-aligned column.
void fit(const Table& table, std::vector<std::size_t>& widths, std::size_t limit) {
  std::size_t total = 0;
  for (const std::size_t width : widths) total += width + kGap;
  if (total <= limit + kGap) return;
  const std::size_t excess = total - kGap - limit;
  for (std::size_t c = widths.size(); c-- > 0;) {
    if (table.columns[c].align != Align::left) continue;
    widths[c] = widths[c] > excess + kLeastWrapped ? widths[c] - excess : std::min(widths[c], kLeastWrapped);
    return;
  }
}

std::string padded(const std::string& text, Align align, std::size_t width) {
  return align == Align::left ? pad_right(text, width) : pad_left(text, width);
}

void trim_right(std::string& line) { line.erase(line.find_last_not_of(' ') + 1); }

std::string key_of(const Column& column) {
  if (!column.key.empty()) return column.key;
  std::string key;
  for (const char c : column.title)
    key += c == ' ' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return key;
}

std::string escape_markdown(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '|' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

}  // namespace

std::string text_table(const Table& table, bool colour, std::size_t width) {
  std::vector<std::size_t> widths = natural_widths(table);
  fit(table, widths, width);
  std::string head;
  for (std::size_t c = 0; c < widths.size(); ++c) {
    head += (c == 0 ? "" : std::string(kGap, ' ')) + padded(table.columns[c].title, table.columns[c].align, widths[c]);
  }
  trim_right(head);
  std::string out = head.empty() ? "" : bold(head, colour) + "\n";
  for (const auto& row : table.rows) {
    std::vector<std::vector<std::string>> cells;
    std::size_t height = 1;
    for (std::size_t c = 0; c < widths.size(); ++c) {
      cells.push_back(wrap(printable(cell_text(row, c)), widths[c]));
      height = std::max(height, cells.back().size());
    }
    for (std::size_t y = 0; y < height; ++y) {
      std::string line;
      for (std::size_t c = 0; c < widths.size(); ++c) {
        const std::string text = y < cells[c].size() ? cells[c][y] : "";
        line += (c == 0 ? "" : std::string(kGap, ' ')) + padded(text, table.columns[c].align, widths[c]);
      }
      trim_right(line);
      out += line + "\n";
    }
  }
  return out;
}

std::string markdown_table(const Table& table) {
  constexpr std::size_t kLeastDashes = 3;  // what the rule under the titles needs
  std::vector<std::size_t> widths = natural_widths(table);
  std::string out = "|", rule = "|";
  for (std::size_t c = 0; c < widths.size(); ++c) {
    widths[c] = std::max(widths[c], kLeastDashes);
    out += " " + padded(escape_markdown(table.columns[c].title), table.columns[c].align, widths[c]) + " |";
    const bool right = table.columns[c].align == Align::right;
    rule += " " + std::string(widths[c] - (right ? 1 : 0), '-') + (right ? ":" : "") + " |";
  }
  out += "\n" + rule + "\n";
  for (const auto& row : table.rows) {
    out += "|";
    for (std::size_t c = 0; c < widths.size(); ++c) {
      const std::string text = escape_markdown(printable(cell_text(row, c)));
      out += " " + padded(text, table.columns[c].align, widths[c]) + " |";
    }
    out += "\n";
  }
  return out;
}

std::string csv_table(const Table& table) {
  std::string out;
  for (std::size_t c = 0; c < table.columns.size(); ++c)
    out += (c == 0 ? "" : ",") + csv_field(key_of(table.columns[c]));
  out += "\n";
  for (const auto& row : table.rows) {
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
      if (c > 0) out += ",";
      if (c < row.size()) out += csv_field(row[c].exact ? row[c].exact->plain_text() : row[c].text);
    }
    out += "\n";
  }
  return out;
}

Json json_table(const Table& table) {
  Json rows = Json::array();
  for (const auto& row : table.rows) {
    Json object = Json::object();
    for (std::size_t c = 0; c < std::min(row.size(), table.columns.size()); ++c) {
      if (row[c].exact) {
        object.set(key_of(table.columns[c]), *row[c].exact);
      } else if (!row[c].text.empty()) {
        object.set(key_of(table.columns[c]), row[c].text);
      }
    }
    rows.push(std::move(object));
  }
  return rows;
}

}  // namespace llmcalc::report
