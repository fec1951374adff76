// JSON to a tree: values, places, and what is refused.
#include "read/json.hpp"

#include <ctime>

#include "tests/catch.hpp"
#include "tests/support/refusal.hpp"

using namespace llmcalc;
using Catch::Matchers::ContainsSubstring;

namespace {

std::string refusal(const std::string& text) {
  return test::refusal([&] { read_json(text, "f.json"); });
}

}  // namespace

TEST_CASE("JSON: values of every kind, exactly") {
  const Value root =
      read_json(R"({"a": 1, "b": -2, "c": 0.5, "d": "x\ny", "e": true, "f": false, "g": null, "h": [1, "z"],
    "i": {"j": {}}, "k": 9223372036854775807, "l": 9223372036854775808, "m": 1000000000000000000000000000000, "n": 1e9})",
                "f.json");
  using Kind = Value::Kind;
  CHECK(root.find("a")->integer == 1);
  CHECK(root.find("b")->integer == -2);
  CHECK(root.find("b")->real == -2);
  CHECK(root.find("c")->real == 0.5);
  CHECK(root.find("d")->text == "x\ny");
  CHECK(root.find("e")->boolean);
  CHECK(root.find("f")->kind == Kind::boolean);
  CHECK_FALSE(root.find("f")->boolean);
  CHECK(root.find("g")->is_null());
  CHECK(root.find("h")->list.at(1).text == "z");
  CHECK(root.find("i")->find("j")->kind == Kind::map);
  CHECK(root.find("k")->integer == 9223372036854775807LL);
  CHECK(root.find("l")->kind == Kind::real);
  CHECK(root.find("l")->text == "9223372036854775808");
  CHECK(root.find("m")->kind == Kind::real);
  CHECK(root.find("m")->text == "1" + std::string(30, '0'));
  CHECK(root.find("n")->kind == Kind::real);
  CHECK(root.find("n")->text == "1e9");
}

TEST_CASE("JSON: every value knows its line and column, though the parser does not tell") {
  const Value root = read_json("{\n  \"a\": 1,\"b\":\n\n   \"x:y\",\n \"c\": [10\n,20 , {\"d\": null}]}\n", "f.json");
  const auto at = [](const Value& value) { return std::pair(value.place.line, value.place.column); };
  CHECK(at(root) == std::pair(1, 1));
  CHECK(at(*root.find("a")) == std::pair(2, 8));
  CHECK(root.map.at(1).key_place.line == 2);
  CHECK(root.map.at(1).key_place.column == 10);
  CHECK(at(*root.find("b")) == std::pair(4, 4));
  CHECK(at(*root.find("c")) == std::pair(5, 7));
  CHECK(at(root.find("c")->list.at(0)) == std::pair(5, 8));
  CHECK(at(root.find("c")->list.at(1)) == std::pair(6, 2));
  CHECK(at(*root.find("c")->list.at(2).find("d")) == std::pair(6, 13));
  CHECK(root.find("c")->list.at(2).find("d")->place.key == "c[2].d");
}

TEST_CASE("JSON: duplicate keys are errors, all of them") {
  const std::string all = refusal("{\"a\": 1,\n\"b\": {\"x\": 1, \"x\": 2},\n\"a\": 3}");
  CHECK_THAT(all, ContainsSubstring("f.json:2:15: error: b.x: the key stands in line 2 already"));
  CHECK_THAT(all, ContainsSubstring("f.json:3:1: error: a: the key stands in line 1 already"));
}

TEST_CASE("JSON: text that is no JSON is refused with its line") {
  const std::pair<std::string, const char*> rows[] = {
      {"", "f.json: error: the file is empty"},
      {"  \n", "the file is empty"},
      {"{\"a\": 1,\n \"b\": ", "f.json:2:7: error: is not valid JSON: while parsing value - unexpected end of input"},
      {"{\"a\": 1,}", "f.json:1:9: error: is not valid JSON"},
      {"{\"a\": 01}", "is not valid JSON"},
      {"{'a': 1}", "is not valid JSON"},
      {"{\"a\": NaN}", "is not valid JSON"},
      {"{\"a\": 1} x", "is not valid JSON"},
      {"{\"a\": 1e999}", "is not valid JSON: number overflow"},
      {"{\"a\": \"\\ud800\"}", "is not valid JSON"},
      {"{\"a\": // comment\n 1}", "is not valid JSON"},
      {std::string("{\"a\": \0}", 8), "f.json:1:7: error: a control character"},
      {"{\"a\": \"\xff\"}", "f.json:1:8: error: is not UTF-8"},
  };
  for (const auto& [text, message] : rows) {
    INFO(text.substr(0, 40));
    CHECK_THAT(refusal(text), ContainsSubstring(message));
  }
  CHECK(refusal("{\"a\": \"\\u00b5 \\ud83d\\ude42\"}") == "accepted");
}

TEST_CASE("JSON: a configuration cut anywhere is refused, and only the whole one is taken") {
  const std::string whole = R"({"model_type": "llama", "hidden_size": 4096, "x": [1, {"y": null}], "z": "\u00b5"})";
  for (std::size_t length = 0; length < whole.size(); ++length) {
    INFO(length);
    CHECK(refusal(whole.substr(0, length)) != "accepted");
  }
  CHECK(refusal(whole) == "accepted");
}

TEST_CASE("JSON: hostile text is refused in bounded time") {
  const std::clock_t start = std::clock();  // processor time: other programs do not count
  CHECK_THAT(refusal(std::string(1'000'000, '[')), ContainsSubstring("nested more than 64 levels"));
  std::string objects;
  for (int i = 0; i < 200'000; ++i) objects += "{\"a\":";
  CHECK_THAT(refusal(objects), ContainsSubstring("nested more than 64 levels"));
  std::string list = "[0";
  for (int i = 0; i < 400'000; ++i) list += ",0";
  CHECK_THAT(refusal(list + "]"), ContainsSubstring("has more than 200000 values"));
  CHECK_THAT(refusal(std::string(17 * 1024 * 1024, ' ')), ContainsSubstring("is larger than 16 MiB"));
  CHECK_THAT(refusal("{\"a\": \"" + std::string(1'000'000, 'x')), ContainsSubstring("is not valid JSON"));
  CHECK_THAT(refusal("{\"" + std::string(1'000'000, 'x') + "\": 1}"), ContainsSubstring("a key is longer"));
  CHECK(std::clock() - start < 60 * CLOCKS_PER_SEC);
}
