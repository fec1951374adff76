// A report as blocks, written as text for a terminal or as Markdown.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "report/table.hpp"

namespace llmcalc::report {

// How a line is marked where there is colour.
enum class Tone { plain, good, warning, bad, faint };

class Page {
 public:
  void title(std::string text) { blocks_.emplace_back(Title{std::move(text)}); }
  void heading(std::string text) { blocks_.emplace_back(Heading{std::move(text)}); }
  // A paragraph, wrapped; lines after the first are indented by `indent` columns.
  void line(std::string text, Tone tone = Tone::plain, std::size_t indent = 0) {
    blocks_.emplace_back(Line{std::move(text), tone, indent});
  }
  void bullet(std::string text) { blocks_.emplace_back(Bullet{std::move(text)}); }
  void table(Table table) { blocks_.emplace_back(std::move(table)); }

  std::string as_text(Style style) const;
  std::string as_markdown() const;

 private:
  struct Title {
    std::string text;
  };
  struct Heading {
    std::string text;
  };
  struct Line {
    std::string text;
    Tone tone;
    std::size_t indent;
  };
  struct Bullet {
    std::string text;
  };
  using Block = std::variant<Title, Heading, Line, Bullet, Table>;

  std::vector<Block> blocks_;
};

}  // namespace llmcalc::report
