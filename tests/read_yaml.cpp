// YAML to a tree: values, places, and what is refused.
#include "read/yaml.hpp"

#include <cmath>
#include <ctime>
#include <limits>

#include "read/text.hpp"
#include "tests/catch.hpp"
#include "tests/support/refusal.hpp"

using namespace llmcalc;
using Catch::Matchers::ContainsSubstring;

namespace {

std::string refusal(const std::string& text) {
  return test::refusal([&] { read_yaml(text, "f.yaml"); });
}

std::string repeated(const std::string& text, std::size_t times) {
  std::string all;
  for (std::size_t i = 0; i < times; ++i) all += text;
  return all;
}

}  // namespace

TEST_CASE("YAML: scalars get the kind YAML's core schema gives them") {
  using Kind = Value::Kind;
  const std::pair<const char*, Kind> rows[] = {
      {"~", Kind::null},        {"null", Kind::null},     {"", Kind::null},        {"true", Kind::boolean},
      {"False", Kind::boolean}, {"7", Kind::integer},     {"-7", Kind::integer},   {"+7", Kind::integer},
      {"007", Kind::integer},   {"1_000", Kind::integer}, {"1.5", Kind::real},     {".5", Kind::real},
      {"1e9", Kind::real},      {"1.e-3", Kind::real},    {".inf", Kind::real},    {"99999999999999999999", Kind::real},
      {"1e", Kind::text},       {"1B", Kind::text},       {"80 GiB", Kind::text},  {"yes", Kind::text},
      {"'7'", Kind::text},      {"\"true\"", Kind::text}, {"2026-11", Kind::text}, {"1_", Kind::text},
      {"0x10", Kind::text},     {"1.2.3", Kind::text},    {"-", Kind::list},       {"[]", Kind::list},
      {"{}", Kind::map},        {"e9", Kind::text},       {".", Kind::text},       {"''", Kind::text},
  };
  for (const auto& [text, kind] : rows) {
    INFO(text);
    const std::string gap = std::string(text) == "-" ? "\n " : " ";
    CHECK(read_yaml("a:" + gap + text + "\n", "f.yaml").find("a")->kind == kind);
  }
  const Value values = read_yaml("a: -1_000\nb: 1e9\nc: 99999999999999999999\nd: 'x: y'\n", "f.yaml");
  CHECK(values.find("a")->integer == -1000);
  CHECK(values.find("a")->real == -1000);
  CHECK(values.find("b")->real == 1e9);
  CHECK(values.find("b")->text == "1e9");
  CHECK(values.find("c")->text == "99999999999999999999");
  CHECK(values.find("d")->text == "x: y");
  CHECK(values.find("e") == nullptr);
}

TEST_CASE("YAML: numbers no double holds, and the words there are for some") {
  const double infinity = std::numeric_limits<double>::infinity();
  const std::pair<const char*, double> rows[] = {{".inf", infinity},    {"-.inf", -infinity},   {"1e999", infinity},
                                                 {"-1e999", -infinity}, {"1e-999", 0},          {"-1e-999", 0},
                                                 {"1E+3", 1000},        {"-1_0.2_5e-1", -1.025}};
  for (const auto& [text, value] : rows) {
    INFO(text);
    const Value root = read_yaml("a: " + std::string(text) + "\n", "f.yaml");
    CHECK(root.find("a")->kind == Value::Kind::real);
    CHECK(root.find("a")->real == value);
  }
  CHECK(std::isnan(read_yaml("a: .nan\n", "f.yaml").find("a")->real));
  for (const char* word : {"True", "TRUE"}) CHECK(read_yaml("a: " + std::string(word) + "\n", "f").find("a")->boolean);
  for (const char* word : {"false", "FALSE"}) {
    const Value root = read_yaml("a: " + std::string(word) + "\n", "f");
    CHECK(root.find("a")->kind == Value::Kind::boolean);
    CHECK_FALSE(root.find("a")->boolean);
  }
  for (const char* word : {"Null", "NULL"})
    CHECK(read_yaml("a: " + std::string(word) + "\n", "f").find("a")->is_null());
}

TEST_CASE("UTF-8: well-formed sequences, and no others") {
  // Unicode 15, table 3-7: the first and the last of each row, and what lies just outside.
  const char* good[] = {"~",
                        "\xC2\x80",
                        "\xDF\xBF",
                        "\xE0\xA0\x80",
                        "\xEC\xBF\xBF",
                        "\xED\x9F\xBF",
                        "\xEE\x80\x80",
                        "\xF0\x90\x80\x80",
                        "\xF3\xBF\xBF\xBF",
                        "\xF4\x8F\xBF\xBF"};
  const char* bad[] = {"\x80",
                       "\xC1\xBF",
                       "\xC2",
                       "\xC2\x7F",
                       "\xC2\xC0",
                       "\xE0\x9F\xBF",
                       "\xE1\x80",
                       "\xE1\x80\x7F",
                       "\xE1\x7F\x80",
                       "\xED\xA0\x80",
                       "\xEF\xBF",
                       "\xF0\x8F\xBF\xBF",
                       "\xF1\x80\x80",
                       "\xF1\x80\x80\x7F",
                       "\xF1\x80\x7F\x80",
                       "\xF1\x7F\x80\x80",
                       "\xF4\x90\x80\x80",
                       "\xF5\x80\x80\x80",
                       "\xFF"};
  for (const std::string text : good) {
    CHECK(is_utf8("a" + text + "b"));
    CHECK(read_yaml("a: \"" + text + "\"\n", "f").find("a")->text == text);
  }
  for (const std::string text : bad) {
    CHECK_FALSE(is_utf8("a" + text));
    CHECK_FALSE(is_utf8("a" + text + "b"));
    CHECK_THAT(refusal("a: " + text + "\n"), ContainsSubstring("f.yaml:1:4: error: is not UTF-8 text"));
  }
}

TEST_CASE("YAML: every value and key knows its place and path") {
  const Value root = read_yaml("a: 1\n# comment\nb:\n  c: [x, {d: 4}]\ne:\nf: 2\n", "f.yaml");
  const Value& d = *root.find("b")->find("c")->list.at(1).find("d");
  CHECK(d.place.file == "f.yaml");
  CHECK(d.place.line == 4);
  CHECK(d.place.column == 14);
  CHECK(d.place.key == "b.c[1].d");
  CHECK(root.map.at(1).key_place.line == 3);
  CHECK(root.map.at(1).key_place.column == 1);
  CHECK(root.find("e")->place.line == 5);  // nothing stands there: the key's place
  CHECK(root.map.at(2).key == "e");
}

TEST_CASE("YAML: Windows line ends and a byte order mark change nothing") {
  const Value root = read_yaml("\xEF\xBB\xBFkey: 1\r\nother: x\r\n", "f.yaml");
  CHECK(root.find("key")->integer == 1);
  CHECK(root.find("other")->text == "x");
}

TEST_CASE("YAML: duplicate keys are errors, all of them") {
  const std::string all = refusal("a: 1\nb: {x: 1, x: 2}\na: 3\n");
  CHECK_THAT(all, ContainsSubstring("f.yaml:2:11: error: b.x: the key stands in line 2 already"));
  CHECK_THAT(all, ContainsSubstring("f.yaml:3:1: error: a: the key stands in line 1 already"));
  CHECK(refusal("a: {x: 1}\nb: {x: 2}\n") == "accepted");
}

TEST_CASE("YAML: text that is no profile is refused with its line") {
  const std::pair<std::string, const char*> rows[] = {
      {"", "f.yaml: error: the file is empty"},
      {" \n\n", "the file is empty"},
      {"# only a comment\n", "holds no values"},
      {"---\n", ""},  // a document that is null; what is wrong with that is not syntax
      {"name: x\n\tparameters: 3\n", "f.yaml:2:1: error: a tab in the indentation"},
      {"a:\n  \tb: 3\n", "f.yaml:2:3: error: a tab"},
      {"a: [1, 2\n", "f.yaml:2:1: error: is not valid YAML"},
      {"a: b: c\n", "f.yaml:1:5: error: is not valid YAML"},
      {"a: 'x\n", "f.yaml:1:4: error: the quote is never closed"},
      {"a: \"x\\\"\n", "f.yaml:1:4: error: the quote is never closed"},
      {"a: 1\nb: ['x', 'it''s\n", "error"},
      {"a: 1\n---\nb: 2\n", "more than one document"},
      {"a: &x 1\nb: 2\n", "f.yaml:1:4: error: an anchor"},
      {"a: *x\n", "f.yaml:1:4: error: "},
      {"a: !!str 1\n", "f.yaml:1:4: error: a tag"},
      {"a: !x [1]\n", "a tag"},
      {"a: &x [1]\n", "an anchor"},
      {"<<: *x\n", "error"},
      {"? [a]\n: 1\n", "a key must be plain text"},
      {"? {a: 1}\n: 1\n", "a key must be plain text"},
      {": 1\n", "a key is missing"},
      {std::string("a: 1\nb: \0\n", 10), "f.yaml:2:4: error: a control character"},
      {"a: \x1b[0m\n", "f.yaml:1:4: error: a control character"},
      {"a: \xff\n", "f.yaml:1:4: error: is not UTF-8"},
      {"a: \xc0\x80\n", "is not UTF-8"},          // NUL in two bytes
      {"a: \xed\xa0\x80\n", "is not UTF-8"},      // half a surrogate pair
      {"a: \xf5\x80\x80\x80\n", "is not UTF-8"},  // beyond U+10FFFF
      {"a: \xe2\x82", "is not UTF-8"},            // cut off
      {"%YAML 9.9\n---\na: 1\n", "error"},
      {repeated("x", 2000) + ": 1\n", "error"},
  };
  for (const auto& [text, message] : rows) {
    INFO(text.substr(0, 40));
    CHECK_THAT(refusal(text), ContainsSubstring(message));
  }
  CHECK(refusal("a: 'it''s'\nb: \"x\\\\\"\nc: \"\u00b5\"\nd: |\n  'x\n") == "accepted");
  CHECK(refusal("a: \xc2\xb5 \xe2\x82\xac \xf0\x9f\x99\x82\n") == "accepted");
  CHECK(refusal("\t# a comment may stand behind a tab\na: 1\n") == "accepted");
}

TEST_CASE("YAML: hostile text is refused in bounded time") {
  const std::clock_t start = std::clock();  // processor time: other programs do not count
  CHECK_THAT(refusal(repeated("[", 200) + repeated("]", 200)), ContainsSubstring("nested more than 64 levels"));
  CHECK_THAT(refusal(repeated("[", 200'000)), ContainsSubstring("error"));
  CHECK_THAT(refusal(repeated("- ", 200'000)), ContainsSubstring("error"));
  CHECK_THAT(refusal(repeated("? ", 200'000)), ContainsSubstring("error"));
  CHECK_THAT(refusal(repeated("{a: ", 200) + repeated("}", 200)), ContainsSubstring("nested more than 64 levels"));
  CHECK_THAT(refusal(repeated("{a: ", 100'000)), ContainsSubstring("error"));
  CHECK_THAT(refusal("[" + repeated("1,", 400'000) + "]"), ContainsSubstring("has more than 200000 values"));
  CHECK_THAT(refusal("{" + repeated("a,", 150'000) + "}"), ContainsSubstring("already"));
  CHECK_THAT(refusal(repeated("x", 2'000'000)), ContainsSubstring("is larger than 1 MiB"));
  CHECK_THAT(refusal("a: \"" + repeated("\\\"", 400'000)), ContainsSubstring("error"));
  std::string aliases = "a0: &a0 x\n";  // grows tenfold a line where aliases are followed
  for (int i = 1; i < 12; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    aliases += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + repeated(before + ",", 10) + "]\n";
  }
  CHECK_THAT(refusal(aliases), ContainsSubstring("an anchor"));
  // Minutes would mean that something grows with the square; a slow machine under a sanitizer needs seconds.
  CHECK(std::clock() - start < 60 * CLOCKS_PER_SEC);
}
