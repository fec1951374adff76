#include "report/page.hpp"

#include <algorithm>

#include "report/layout.hpp"
#include "report/terminal.hpp"

namespace llmcalc::report {

namespace {

std::string toned(const std::string& text, Tone tone, bool colour) {
  switch (tone) {
    case Tone::good: return green(text, colour);
    case Tone::warning: return yellow(text, colour);
    case Tone::bad: return red(text, colour);
    case Tone::faint: return dim(text, colour);
    case Tone::plain: break;
  }
  return text;
}

// `first` before the first line, as many spaces before the others.
std::string hanging(const std::string& text, const std::string& first, std::size_t indent, Tone tone, Style style) {
  std::string out;
  const std::size_t width = style.width - std::max(display_width(first), indent);
  for (const std::string& line : wrap(printable(text), width)) {
    out += (out.empty() ? first : std::string(indent, ' ')) + toned(line, tone, style.colour) + "\n";
  }
  return out;
}

std::string in_bold(const std::string& text, Style style) {
  std::string out;
  for (const std::string& line : wrap(printable(text), style.width)) out += bold(line, style.colour) + "\n";
  return out;
}

template <class... Functions>
struct Match : Functions... {
  using Functions::operator()...;
};
template <class... Functions>
Match(Functions...) -> Match<Functions...>;

}  // namespace

std::string Page::as_text(Style style) const {
  std::string out;
  const auto write = Match{
      [&](const Title& title) { out += in_bold(title.text, style); },
      [&](const Heading& heading) { out += "\n" + in_bold(heading.text, style); },
      [&](const Line& line) { out += hanging(line.text, "", line.indent, line.tone, style); },
      [&](const Bullet& bullet) { out += hanging(bullet.text, "- ", 2, Tone::plain, style); },
      [&](const Table& table) { out += text_table(table, style.colour, style.width); },
  };
  for (const Block& block : blocks_) std::visit(write, block);
  return out;
}

std::string Page::as_markdown() const {
  std::string out;
  bool in_list = false;
  const auto begin = [&](bool list) {
    if (!out.empty() && !(list && in_list)) out += "\n";
    in_list = list;
  };
  const auto write = Match{
      [&](const Title& title) {
        begin(false);
        out += "# " + printable(title.text) + "\n";
      },
      [&](const Heading& heading) {
        begin(false);
        out += "## " + printable(heading.text) + "\n";
      },
      [&](const Line& line) {
        begin(false);
        out += printable(line.text) + "\n";
      },
      [&](const Bullet& bullet) {
        begin(true);
        out += "- " + printable(bullet.text) + "\n";
      },
      [&](const Table& table) {
        begin(false);
        out += markdown_table(table);
      },
  };
  for (const Block& block : blocks_) std::visit(write, block);
  return out;
}

}  // namespace llmcalc::report
