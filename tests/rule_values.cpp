// Values of a rule's symbols as people write them, unit by unit, and as they are printed.
#include "core/rules/values.hpp"

#include <string>
#include <vector>

#include "tests/catch.hpp"

using namespace llmcalc;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr Dimension per_hour = dim::dollar / dim::second, per_token = dim::flop / dim::token,
                    per_parameter = dim::byte / dim::parameter;

// The value in base units as digits, or what is wrong with it.
std::string read(Dimension unit, SymbolKind kind, const std::string& text) {
  RuleSymbol symbol;
  symbol.key = "x";
  symbol.unit = unit;
  symbol.kind = kind;
  Diagnostics problems;
  const auto values = rule::parse_value(symbol, text, problems);
  std::string all;
  if (!values) {
    for (const Diagnostic& d : problems.all()) all += to_string(d);
    return all;
  }
  for (const Number& value : *values) all += (all.empty() ? "" : ",") + to_digits(value);
  return all;
}

struct Row {
  Dimension unit;
  SymbolKind kind;
  const char *text, *value;
};

}  // namespace

TEST_CASE("each unit takes its own words") {
  using Kind = SymbolKind;
  const std::vector<Row> rows = {
      {dim::flop, Kind::positive, "6e19", "60000000000000000000"},
      {dim::flop, Kind::positive, " 60 EFLOP ", "60000000000000000000"},
      {dim::flop, Kind::positive, "1.5kFLOP", "1500"},
      {dim::flop, Kind::positive, "2 MFLOP", "2000000"},
      {dim::flop, Kind::positive, "3 GFLOPs", "3000000000"},
      {dim::flop, Kind::positive, "4 TFLOP", "4000000000000"},
      {dim::flop, Kind::positive, "5 PFLOP", "5000000000000000"},
      {dim::flop, Kind::positive, "7 FLOP", "7"},
      {per_token, Kind::positive, "6 GFLOP/token", "6000000000"},
      {per_token, Kind::positive, "42", "42"},
      {per_parameter, Kind::positive, "18 B/param", "18"},
      {per_parameter, Kind::positive, "0.5 B", "0.5"},
      {dim::joule, Kind::positive, "1.5 kWh", "5400000"},
      {dim::joule, Kind::positive, "2 MJ", "2000000"},
      {dim::joule, Kind::positive, "7J", "7"},
      {dim::dollar, Kind::positive, "$2.50", "2.5"},
      {dim::dollar, Kind::positive, "$ 6.7k", "6700"},
      {dim::dollar, Kind::positive, "3 USD", "3"},
      {dim::dollar, Kind::positive, "4$", "4"},
      {per_hour, Kind::positive, "$3600/h", "1"},
      {per_hour, Kind::positive, "7200 USD/hour", "2"},
      {dim::none, Kind::width, "bf16", "2"},
      {dim::none, Kind::width, "fp8", "1"},
      {dim::none, Kind::width, "int4", "0.5"},
      {dim::none, Kind::width, "2 bytes", "2"},
      {dim::none, Kind::share, "40%", "0.4"},
      {dim::token, Kind::whole, "15T tokens", "15000000000000"},
      {dim::parameter, Kind::whole, "7B parameters", "7000000000"},
      {dim::none, Kind::wholes, "(8, 1_024,4096)", "8,1024,4096"},
      {dim::none, Kind::any, "-18", "-18"},
      {dim::none, Kind::zero_up, "0", "0"},
  };
  for (const Row& row : rows) {
    INFO(row.text);
    CHECK(read(row.unit, row.kind, row.text) == row.value);
  }
}

TEST_CASE("what is no value of its unit says so, and which is due") {
  using Kind = SymbolKind;
  const std::vector<Row> rows = {
      {dim::flop, Kind::positive, "x EFLOP", "'x' is not a number"},
      {dim::flop, Kind::positive, "E FLOP", "a number is missing"},
      {dim::flop, Kind::positive, "5 XFLOP", "'5 X' is not a count"},
      {dim::joule, Kind::positive, "5", "'5' has no unit of energy"},
      {dim::joule, Kind::positive, "5", "x takes an energy (J, kWh)"},
      {dim::joule, Kind::positive, "x kWh", "'x' is not a number"},
      {dim::dollar, Kind::positive, "free", "x takes an amount of money in $"},
      {dim::dollar, Kind::positive, "-1", "has to be above 0"},
      {dim::none, Kind::width, "bf61", "'bf61' is neither a number of bytes nor a known type"},
      {dim::none, Kind::share, "140%", "cannot be above 100 %"},
      {dim::none, Kind::share, "0", "has to be above 0"},
      {dim::none, Kind::whole, "0", "has to be at least 1"},
      {dim::none, Kind::whole, "1.5", "x takes a whole number without a unit"},
      {dim::none, Kind::whole_0, "x", "x takes a whole number without a unit"},
      {dim::none, Kind::zero_up, "-1", "cannot be negative"},
      {dim::none, Kind::wholes, "1,x", "x takes whole numbers with commas between them"},
      {dim::byte, Kind::positive, "80 GIB", "did you mean GiB"},
  };
  for (const Row& row : rows) {
    INFO(row.text);
    CHECK_THAT(read(row.unit, row.kind, row.text), ContainsSubstring(row.value));
  }
}

TEST_CASE("values for reading, in the units that help") {
  const auto shown = [](Dimension unit, double value, SymbolKind kind = SymbolKind::any) {
    return rule::long_text(kind, unit, Number(value));
  };
  CHECK(shown(dim::byte, 999) == "999 B");
  CHECK(shown(dim::byte, 67'108'864) == "67,108,864 B = 64 MiB = 67.11 MB");
  CHECK(shown(dim::byte, 2048.5) == "2.001 KiB = 2.049 kB");
  CHECK_THAT(shown(dim::byte, 1e30), ContainsSubstring("10¹² EB"));
  CHECK_THAT(shown(dim::byte, -1e30), ContainsSubstring("−1·10¹² EB"));  // what is left of too little
  CHECK(shown(dim::second, 0.25) == "250 ms");
  CHECK_THAT(shown(dim::second, 1.5e6), ContainsSubstring(" = 17.36 days"));
  CHECK_THAT(shown(dim::joule, 7.2e6), ContainsSubstring(" = 2 kWh"));
  CHECK_THAT(shown(dim::second, 7200, SymbolKind::device_time), ContainsSubstring(" = 2 device-hours"));
  CHECK(shown(dim::none, 0.4, SymbolKind::share) == "40 %");
}
