// JSON, tables and text layout, against what their standards say.
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "report/csv.hpp"
#include "report/json.hpp"
#include "report/layout.hpp"
#include "report/page.hpp"
#include "report/table.hpp"
#include "report/terminal.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;
using namespace llmcalc::report;

TEST_CASE("JSON: whole numbers are exact at any size") {
  // 2^127 - 1, and 6ND of 10^9 parameters and 10^10 tokens, which is past 2^63.
  const Int128 largest = ~(static_cast<Int128>(1) << 127);
  CHECK(Json(largest).dump() == "170141183460469231731687303715884105727\n");
  CHECK(Json(-largest - 1).dump() == "-170141183460469231731687303715884105728\n");
  CHECK(Json(Flops(static_cast<Int128>(6) * 1000000000 * 10000000000)).dump() == "60000000000000000000\n");
  CHECK(Json(Bytes(16060522496)).dump() == "16060522496\n");
  CHECK(Json(std::numeric_limits<std::int64_t>::min()).dump() == "-9223372036854775808\n");
  CHECK(Json(0).dump() == "0\n");
}

TEST_CASE("JSON: real numbers read back as the same number") {
  CHECK(Json(0.1).dump() == "0.1\n");
  CHECK(Json(1.5e6).dump() == "1500000\n");
  CHECK(Json(1.0 / 3).dump() == "0.3333333333333333\n");
  CHECK(Json(Seconds(5e-324)).dump() == "5e-324\n");
  CHECK_THROWS_AS(Json(std::numeric_limits<double>::infinity()), std::logic_error);
  CHECK_THROWS_AS(Json(std::numeric_limits<double>::quiet_NaN()), std::logic_error);
}

TEST_CASE("JSON: texts are escaped as RFC 8259 asks") {
  CHECK(Json("a \"b\" \\ \n \t \x1b \x01 é").dump() == "\"a \\\"b\\\" \\\\ \\n \\t \\u001b \\u0001 é\"\n");
  CHECK(Json("cut \xE2\x82").dump() == "\"cut \xEF\xBF\xBD\xEF\xBF\xBD\"\n");
  CHECK(Json("overlong \xC0\xAF").dump() == "\"overlong \xEF\xBF\xBD\xEF\xBF\xBD\"\n");
  CHECK(Json("past the last \xF4\x90\x80\x80").dump() ==  // U+110000
        "\"past the last \xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\"\n");
  CHECK(Json("half \xC3(").dump() == "\"half \xEF\xBF\xBD(\"\n");
  CHECK(Json("surrogate \xED\xA0\x80").dump() == "\"surrogate \xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\"\n");
  CHECK(Json(std::string_view("nul \0!", 6)).dump() == "\"nul \\u0000!\"\n");
  CHECK(Json::object().dump() == "{}\n");
}

TEST_CASE("JSON: members keep their order, absent ones are absent") {
  Json object = Json::object();
  object.set("schema", "x/1")
      .set("b", 2)
      .set("a", true)
      .set("none", std::optional<double>())
      .set("some", std::optional<int>(3));
  object.set("b", 4).set("list", std::vector<int>{1, 2}).set("empty", Json::array());
  CHECK(object.dump() ==
        "{\n  \"schema\": \"x/1\",\n  \"b\": 4,\n  \"a\": true,\n  \"some\": 3,\n  \"list\": [1, 2],\n  \"empty\": "
        "[]\n}\n");
  CHECK_THROWS_AS(Json::array().set("a", 1), std::logic_error);
  CHECK_THROWS_AS(Json::object().push(1), std::logic_error);
}

TEST_CASE("JSON flattened to CSV") {
  const Json object = Json::object()
                          .set("a", Json::object().set("b", 1))
                          .set("c", Json::array().push("x,y").push(Json::object().set("d", 2.5)));
  CHECK(object.flat_csv() == "path,value\na.b,1\nc.0,\"x,y\"\nc.1.d,2.5\n");
}

TEST_CASE("CSV fields as RFC 4180") {
  CHECK(csv_field("plain") == "plain");
  CHECK(csv_field("a,b") == "\"a,b\"");
  CHECK(csv_field("say \"x\"") == "\"say \"\"x\"\"\"");
  CHECK(csv_field("two\nlines") == "\"two\nlines\"");
}

TEST_CASE("width of text in columns") {
  CHECK(display_width("abc") == 3);
  CHECK(display_width("naïve…") == 6);
  CHECK(display_width("e\xCC\x81") == 1);                 // e and a combining acute accent
  CHECK(display_width("\xE9\x80\x9A\xE4\xB9\x89") == 4);  // 通义, two wide characters
  CHECK(display_width("\xF0\x9F\x98\x80") == 2);          // U+1F600
  CHECK(display_width("\xFF") == 1);
  CHECK(pad_right("é", 3) == "é  ");
  CHECK(pad_left("é", 3) == "  é");
}

TEST_CASE("wrapping") {
  CHECK(wrap("", 10).empty());
  CHECK(wrap("one two three", 8) == std::vector<std::string>{"one two", "three"});
  CHECK(wrap("incomprehensible word", 5) == std::vector<std::string>{"incomprehensible", "word"});
  CHECK(wrap("  in deep", 5) == std::vector<std::string>{"  in", "  deep"});
  CHECK(wrap("it is 79.65 GiB", 13) == std::vector<std::string>{"it is", "79.65 GiB"});  // a number keeps its unit
  CHECK(wrap("it is 40 %", 8) == std::vector<std::string>{"it is", "40 %"});
  CHECK(wrap("it is 5 TFLOP/s", 9) == std::vector<std::string>{"it is", "5 TFLOP/s"});
  CHECK(wrap("it is 5 FLOP/B", 9) == std::vector<std::string>{"it is", "5 FLOP/B"});
  CHECK(wrap("79.65 GiB", 6) == std::vector<std::string>{"79.65", "GiB"});  // no room for both
  CHECK(wrap("ab  cd", 2) == std::vector<std::string>{"ab", "cd"});
  CHECK(wrap("a\n\nb", 5) == std::vector<std::string>{"a", "", "b"});
}

TEST_CASE("what a file says cannot steer the terminal") {
  CHECK(printable("a\x1b[31mb\n") == "a [31mb ");
  CHECK(printable("a\nb", "\n") == "a\nb");
  CHECK(printable("\xC2\x9B"
                  "31m") == " 31m");                // U+009B is ESC [ in one character
  CHECK(printable("\x7F\xC2\xA0") == " \xC2\xA0");  // delete goes, the no-break space beyond C1 stays
  CHECK(printable("bad \x80") == "bad \xEF\xBF\xBD");
  CHECK(printable("é 通") == "é 通");
}

TEST_CASE("one table in four formats") {
  const Table table{{{"name"}, {"size", Align::right, "bytes"}, {"note"}},
                    {{"a|b", Cell("1.0 KiB", Bytes(1024)), "x, y"}, {"é", Cell("16.1 GB", Bytes(16060522496))}}};
  CHECK(text_table(table, false) ==
        "name     size  note\n"
        "a|b   1.0 KiB  x, y\n"
        "é     16.1 GB\n");
  CHECK(markdown_table(table) ==
        "| name |    size | note |\n"
        "| ---- | ------: | ---- |\n"
        "| a\\|b | 1.0 KiB | x, y |\n"
        "| é    | 16.1 GB |      |\n");
  CHECK(csv_table(table) == "name,bytes,note\na|b,1024,\"x, y\"\né,16060522496,\n");
  CHECK(json_table(table).flat_csv() ==
        "path,value\n0.name,a|b\n0.bytes,1024\n0.note,\"x, y\"\n1.name,é\n1.bytes,16060522496\n");
}

TEST_CASE("a wide table wraps its last text column") {
  const Table table{{{"id"}, {"why"}}, {{"x", "one two three four five six seven"}}};
  CHECK(text_table(table, false, 20) == "id  why\nx   one two three\n    four five six\n    seven\n");
  const Table figures{{{"one", Align::right}, {"two", Align::right}}, {{"1,000,000", "2,000,000"}}};
  CHECK(text_table(figures, false, 10) == "      one        two\n1,000,000  2,000,000\n");  // no text to wrap
}

TEST_CASE("Markdown: what separates columns and what escapes are escaped") {
  CHECK(markdown_table({{{"a|b"}}, {{"c\\d"}}}) == "| a\\|b |\n| --- |\n| c\\\\d |\n");
}

TEST_CASE("Markdown of a page: a list is one block, everything else stands apart") {
  Page page;
  page.title("T");
  page.bullet("one");
  page.bullet("two");
  page.heading("H");
  page.line("text");
  CHECK(page.as_markdown() == "# T\n\n- one\n- two\n\n## H\n\ntext\n");
}

namespace {

// Gives an environment variable a value, or takes it away, as long as it lives.
class Environment {
 public:
  Environment(const char* name, const char* value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    set(value);
  }
  ~Environment() { set(before_ ? before_->c_str() : nullptr); }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  void set(const char* value) const {
    if (value == nullptr) {
      ::unsetenv(name_);
    } else {
      ::setenv(name_, value, 1);
    }
  }

  const char* name_;
  std::optional<std::string> before_;
};

}  // namespace

TEST_CASE("the width: of COLUMNS, else of the terminal, else the usual one") {
  const int terminal = ::posix_openpt(O_RDWR | O_NOCTTY);
  REQUIRE(terminal >= 0);
  REQUIRE(::grantpt(terminal) == 0);
  REQUIRE(::unlockpt(terminal) == 0);
  const int side = ::open(::ptsname(terminal), O_RDWR | O_NOCTTY);
  REQUIRE(side >= 0);
  winsize size{};
  size.ws_col = 72;
  REQUIRE(::ioctl(side, TIOCSWINSZ, &size) == 0);
  const int file = ::open("/dev/null", O_WRONLY);
  const Environment no_color("NO_COLOR", nullptr), xterm("TERM", "xterm");
  {
    const Environment columns("COLUMNS", nullptr);
    CHECK(columns_of(side) == 72);
    CHECK(columns_of(file) == kReportWidth);
  }
  for (const char* nonsense : {"", "wide", "80x", "99999999999999999999999", "-5"}) {
    const Environment columns("COLUMNS", nonsense);
    CHECK(columns_of(side) == 72);
  }
  for (const auto& [given, width] : {std::pair{"80", std::size_t{80}}, {"10", kLeastWidth}, {"500", kReportWidth}}) {
    const Environment columns("COLUMNS", given);
    CHECK(columns_of(side) == width);
    CHECK(columns_of(file) == width);
  }
  CHECK(colour_wanted(side));
  CHECK_FALSE(colour_wanted(file));
  for (const auto& [name, value] : {std::pair{"NO_COLOR", "1"}, {"TERM", "dumb"}, {"TERM", nullptr}}) {
    const Environment plain(name, value);
    CHECK_FALSE(colour_wanted(side));
  }
  const Environment empty("NO_COLOR", "");  // no-color.org: only when it is not empty
  CHECK(colour_wanted(side));
  for (const int end : {terminal, side, file}) ::close(end);
}

TEST_CASE("bars") {
  CHECK(bar(0.5, 0).empty());
  CHECK(bar(0.5, 4) == "██  ");
  CHECK(bar(0, 3) == "   ");
  CHECK(bar(1e-6, 3) == "█  ");  // something is there
  CHECK(bar(1, 3) == "███");
  CHECK(bar(1.3, 3) == "██►");
}
