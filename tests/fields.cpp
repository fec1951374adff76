// Typed access to a map: values, defaults, and an error at the right place for everything else.
#include "core/fields.hpp"

#include <functional>

#include "read/json.hpp"
#include "read/yaml.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;
using Catch::Matchers::ContainsSubstring;

namespace {

// What `read` complains about when it reads this YAML, one diagnostic a line.
std::string complaints(const std::string& yaml, const std::function<void(Fields&)>& read) {
  const Value root = read_yaml(yaml, "f.yaml");
  Diagnostics diagnostics;
  Fields fields(root, diagnostics);
  read(fields);
  std::string all;
  for (const Diagnostic& d : diagnostics.all()) all += to_string(d) + "\n";
  return all;
}

}  // namespace

TEST_CASE("fields: values of every kind") {
  const Value root = read_yaml(
      "a: 7\nb: 1B\nc: 1e9\nd: true\ne: 0.5\nf: silu\ng: [1, 2]\nh: [x, y]\ni: null\nj: 0\nk: 4096.0\nl: 1000T\n",
      "f.yaml");
  Diagnostics diagnostics;
  Fields fields(root, diagnostics);
  CHECK(fields.count("a") == 7);
  CHECK(fields.count("b") == 1'000'000'000);
  CHECK(fields.count("c", 5) == 1'000'000'000);
  CHECK(fields.flag("d", false));
  CHECK(fields.number("e", 1) == 0.5);
  CHECK(fields.text("f", "gelu") == "silu");
  CHECK(fields.counts("g") == std::vector<Count>{1, 2});
  CHECK(fields.texts("h") == std::vector<std::string>{"x", "y"});
  CHECK(fields.optional_count("i", 4096) == std::nullopt);  // null is not absent
  CHECK(fields.optional_number("i", 1.0) == std::nullopt);
  CHECK_FALSE(fields.flag("i", true));
  CHECK(fields.is_null("i"));
  CHECK(fields.count_or_zero("j", 1) == 0);
  CHECK(fields.count("k") == 4096);
  CHECK(fields.total("l") == 1'000'000'000'000'000);
  CHECK(fields.assumed().empty());
  CHECK(fields.unread().empty());
  CHECK(diagnostics.all().empty());
}

TEST_CASE("fields: what is absent is assumed, and listed as assumed once") {
  const Value root = read_yaml("a: 1\n", "f.yaml");
  Diagnostics diagnostics;
  Fields fields(root, diagnostics);
  CHECK(fields.count("kv", 8) == 8);
  CHECK(fields.count("kv", 8) == 8);
  CHECK(fields.optional_count("window", 4096) == 4096);
  CHECK(fields.optional_count("other", std::nullopt) == std::nullopt);
  CHECK(fields.flag("tied", true));
  CHECK(fields.number("p", 0.1) == 0.1);
  CHECK(fields.text("act", "silu") == "silu");
  std::string all;
  for (const Fields::Assumed& a : fields.assumed()) all += a.key + "=" + a.value + " ";
  CHECK(all == "kv=8 window=4096 other=none tied=true p=0.1 act=silu ");
  CHECK(fields.counts("list").empty());
  CHECK_FALSE(fields.has("x"));
  CHECK(fields.unread() == std::vector<std::string>{"a"});
  CHECK(diagnostics.all().empty());
}

TEST_CASE("fields: one key under two names") {
  const Value gpt = read_yaml("n_embd: 768\n", "f.yaml");
  Diagnostics diagnostics;
  Fields fields(gpt, diagnostics);
  CHECK(fields.count({"n_embd", "hidden_size"}) == 768);
  const Value other = read_yaml("hidden_size: 768\n", "f.yaml");
  Fields renamed(other, diagnostics);
  CHECK(renamed.count({"n_embd", "hidden_size"}) == 768);
  CHECK(renamed.unread().empty());
  CHECK(diagnostics.all().empty());
  const auto read = [](Fields& f) { f.count({"n_embd", "hidden_size"}); };
  CHECK(complaints("n_embd: 768\nhidden_size: 768\n", read).empty());
  CHECK_THAT(complaints("n_embd: 768\nhidden_size: 1024\n", read),
             ContainsSubstring("f.yaml:2:14: error: hidden_size: contradicts n_embd"));
  CHECK_THAT(complaints("x: 1\n", read), ContainsSubstring("n_embd: is required and missing"));
}

TEST_CASE("fields: a count that is none says what is wrong with it, and where") {
  const auto read = [](Fields& f) { CHECK(f.count("hidden_size") == 1); };
  const std::pair<const char*, const char*> rows[] = {
      {"0", "must be at least 1, not 0"},
      {"-3", "must be at least 1, not -3"},
      {"4096.5", "'4096.5' is not a whole number"},
      {"1e30", "'1e30' is too large"},
      {"1000000000000000000000000000000", "is too large"},
      {"2147483649", "2147483649 is too large; at most 2,147,483,648"},  // 2^31 + 1: two such make more than 2^62
      {"big", "'big' is not a number"},
      {"\"4096\"", "not text"},
      {"80 GB", "is not a count"},
      {"true", "must be a whole number, not true"},
      {"[1]", "must be a whole number, not a list"},
      {"{a: 1}", "must be a whole number, not a map"},
      {"null", "must be a whole number, not null"},
      {".inf", "not a number"},
      {".nan", "not a number"},
  };
  for (const auto& [value, message] : rows) {
    INFO(value);
    const std::string all = complaints(std::string("# first line\nhidden_size: ") + value + "\n", read);
    CHECK_THAT(all, ContainsSubstring(message));
    CHECK_THAT(all, ContainsSubstring("error: hidden_size: "));
    const bool no_own_place = std::string(value) == "null";  // still the line of its key
    CHECK_THAT(all, ContainsSubstring(no_own_place ? "f.yaml:2:" : "f.yaml:2:14: "));
  }
}

TEST_CASE("fields: wrong kinds of other values") {
  CHECK_THAT(complaints("a: 1\n", [](Fields& f) { f.flag("a", true); }), ContainsSubstring("true or false, not 1"));
  CHECK_THAT(complaints("a: yes\n", [](Fields& f) { f.flag("a", true); }), ContainsSubstring("not 'yes'"));
  CHECK_THAT(complaints("a: x\n", [](Fields& f) { f.number("a", 1); }), ContainsSubstring("finite number, not 'x'"));
  CHECK_THAT(complaints("a: .nan\n", [](Fields& f) { f.number("a", 1); }), ContainsSubstring("finite number"));
  CHECK_THAT(complaints("a: 5\n", [](Fields& f) { f.text("a", "x"); }), ContainsSubstring("must be text, not 5"));
  CHECK_THAT(complaints("a: 5\n", [](Fields& f) { f.counts("a"); }), ContainsSubstring("list of whole numbers, not 5"));
  CHECK_THAT(complaints("a: [1, x]\n", [](Fields& f) { f.counts("a"); }),
             ContainsSubstring("f.yaml:1:8: error: a[1]:"));
  CHECK_THAT(complaints("a: [x, 1]\n", [](Fields& f) { f.texts("a"); }),
             ContainsSubstring("a[1]: must be text, not 1"));
  CHECK_THAT(complaints("a: 200000\n", [](Fields& f) { f.layers("a"); }), ContainsSubstring("at most 100,000"));
  CHECK_THAT(complaints("a: 2000T\n", [](Fields& f) { f.total("a"); }), ContainsSubstring("is too large"));
  CHECK_THAT(complaints("a: -1\n", [](Fields& f) { f.count_or_zero("a", 0); }), ContainsSubstring("at least 0"));
}

TEST_CASE("fields: every problem comes out, not only the first") {
  const std::string all = complaints("a: 0\nb: x\n", [](Fields& f) {
    f.count("a");
    f.count("b");
    f.count("c");
  });
  CHECK(std::count(all.begin(), all.end(), '\n') == 3);
}

TEST_CASE("fields: a map inside the map keeps its path") {
  const Value root = read_yaml("ffn_config:\n  size: 0\n", "f.yaml");
  Diagnostics diagnostics;
  Fields fields(root, diagnostics);
  Fields inner(*fields.raw("ffn_config"), diagnostics, "ffn_config");
  inner.count("size");
  inner.count("other");
  inner.error("size", "does not divide", "try 8");
  REQUIRE(diagnostics.all().size() == 3);
  CHECK(to_string(diagnostics.all()[0]) == "f.yaml:2:9: error: ffn_config.size: must be at least 1, not 0");
  CHECK_THAT(to_string(diagnostics.all()[1]), ContainsSubstring("ffn_config.other: is required and missing"));
  CHECK(to_string(diagnostics.all()[2]) == "f.yaml:2:9: error: ffn_config.size: does not divide\nhint: try 8");
  const Value list = read_yaml("[1]", "f.yaml");
  Fields broken(list, diagnostics, "x");
  CHECK_THAT(to_string(diagnostics.all().back()), ContainsSubstring("x: must be a map of keys and values, not a list"));
}

TEST_CASE("fields: keys nobody read: errors in YAML, with what they resemble") {
  const std::string all = complaints("name: x\nschema: y\nparamters: 1\nhidden_sise: 2\nqqqqqq: 3\n", [](Fields& f) {
    Diagnostics diagnostics;
    f.has("parameters");
    f.count("hidden_size", 1);
    report_unread(f, true, diagnostics);
    for (const Diagnostic& d : diagnostics.all()) f.error(d.place.key, to_string(d));
  });
  CHECK_THAT(all, ContainsSubstring("f.yaml:3:1: error: paramters: unknown key\nhint: did you mean parameters?"));
  CHECK_THAT(all, ContainsSubstring("f.yaml:4:1: error: hidden_sise: unknown key\nhint: did you mean hidden_size?"));
  CHECK_THAT(all, ContainsSubstring("f.yaml:5:1: error: qqqqqq: unknown key\n"));
  CHECK_THAT(all, !ContainsSubstring("name: unknown"));
}

TEST_CASE("fields: of many keys nobody read some are listed, long ones in part") {
  std::string config = "{\"" + std::string(100, 'x') + "\": 1";
  for (int i = 0; i < 13; ++i) config += ", \"odd_" + std::to_string(i) + "\": 1";
  const Value root = read_json(config + ", \"is_decoder\": null, \"add_cross_attention\": false}", "config.json");
  Diagnostics diagnostics;
  report_unread(Fields(root, diagnostics), false, diagnostics);
  REQUIRE(diagnostics.all().size() == 1);
  const std::string message = diagnostics.all().front().message;
  CHECK_THAT(message, ContainsSubstring("odd_10 and 2 more"));
  CHECK_THAT(message, !ContainsSubstring(std::string(90, 'x')) && !ContainsSubstring("is_decoder"));
}

TEST_CASE("fields: keys nobody read: one warning in a config.json, for those that could matter") {
  const Value root = read_json(
      R"({"model_type": "llama", "torch_dtype": "bfloat16", "bos_token_id": 1, "rms_norm_eps": 1e-5, "rope_theta": 5e5,
          "_name_or_path": "x", "quantization_config": {"bits": 4}, "num_experts": 8, "sliding_window": 4,
          "is_encoder_decoder": false, "is_decoder": true})",
      "config.json");
  Diagnostics diagnostics;
  Fields fields(root, diagnostics);
  report_unread(fields, false, diagnostics);
  REQUIRE(diagnostics.all().size() == 1);
  CHECK(to_string(diagnostics.all()[0]) ==
        "config.json: warning: not used here, and could change the count: num_experts, sliding_window and is_decoder");
  CHECK_FALSE(diagnostics.has_errors());
  fields.ignore({"num_experts", "sliding_window", "is_decoder"});
  Diagnostics after;
  report_unread(fields, false, after);
  CHECK(after.all().empty());
}

TEST_CASE("fields: what stands where something else should is named, long numbers by their kind") {
  const std::pair<const char*, const char*> rows[] = {
      {"5", "must be text, not 5"},
      {"1111111111222222222233333333334444444444", "must be text, not 1111111111222222222233333333334444444444"},
      {"11111111112222222222333333333344444444445", "must be text, not a number"},
      {"0.1111111111222222222233333333334444444444", "must be text, not a number"},
      {"[1]", "must be text, not a list"}};
  for (const auto& [value, message] : rows)
    CHECK_THAT(complaints(std::string("act: ") + value + "\n", [](Fields& f) { f.text("act", "silu"); }),
               ContainsSubstring(message) && !ContainsSubstring(std::string(message) + "4"));
  for (const auto& [value, kind] : {std::pair{"5", "a number"},
                                    {"0.5", "a number"},
                                    {"true", "true or false"},
                                    {"word", "text"},
                                    {"[1]", "a list"}}) {
    const Value root = read_yaml(std::string("a: ") + value + "\n", "f.yaml");
    Diagnostics diagnostics;
    const Fields inside(*root.find("a"), diagnostics, "a");
    REQUIRE(diagnostics.all().size() == 1);
    CHECK_THAT(to_string(diagnostics.all()[0]),
               ContainsSubstring(std::string("must be a map of keys and values, not ") + kind));
  }
}
