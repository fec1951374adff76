// Numbers with units, both ways. Expected values are written out by hand: 2^30 = 1,073,741,824.
#include "core/quantity.hpp"

#include <functional>
#include <limits>
#include <string>

#include "tests/catch.hpp"

using namespace llmcalc;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("quantity: sizes in bytes are exact") {
  const std::pair<const char*, Count> rows[] = {
      {"80 GiB", 85'899'345'920},
      {"80GiB", 85'899'345'920},
      {"141 GB", 141'000'000'000},
      {"896MiB", 939'524'096},
      {"81559 MiB", 85'520'809'984},
      {"512 B", 512},
      {"1.5 GiB", 1'610'612'736},
      {"0.1 GB", 100'000'000},
      {"3.35 TB", 3'350'000'000'000},
      {"1e3 kB", 1'000'000},
      {" 2 KiB ", 2048},
      {"1 KB", 1000},
      {"0 B", 0},
      {"7 EiB", 8'070'450'532'247'928'832},
      {"1.1 KiB", 1126},  // 1126.4
      {"0.5 B", 1},       // rounded half up
      {"1_024 B", 1024},
      {"4 bytes", 4},
  };
  for (const auto& [text, bytes] : rows) {
    INFO(text);
    const Parsed<Bytes> parsed = parse_bytes(text);
    REQUIRE(parsed);
    CHECK((*parsed).value() == bytes);
  }
}

TEST_CASE("quantity: rates, clocks, powers and times take their nearest double") {
  CHECK((*parse_byte_rate("3.35 TB/s")).value() == 3.35e12);
  CHECK((*parse_byte_rate("1 GiB/s")).value() == 1073741824.0);
  CHECK((*parse_flop_rate("989.4 TFLOP/s")).value() == 989.4e12);
  CHECK((*parse_flop_rate("989.4 TFLOPS")).value() == 989.4e12);
  CHECK((*parse_flop_rate("1978.9 TOP/s")).value() == 1978.9e12);
  CHECK((*parse_power("700 W")).value() == 700);
  CHECK((*parse_power("1.2 kW")).value() == 1200);
  CHECK((*parse_frequency("1830 MHz")).value() == 1.83e9);
  CHECK((*parse_duration("1.5 ms")).value() == 1.5e-3);
  CHECK((*parse_duration("12 \u00b5s")).value() == 12e-6);
  CHECK((*parse_duration("12us")).value() == 12e-6);
  CHECK((*parse_duration("2 h")).value() == 7200);
  CHECK((*parse_duration("17.5 days")).value() == 17.5 * 86400);
  CHECK((*parse_intensity("20")).value() == 20);
  CHECK((*parse_intensity("20 FLOP/B")).value() == 20);
}

TEST_CASE("quantity: counts are whole numbers, with suffixes and exponents") {
  const std::pair<const char*, Count> rows[] = {
      {"4096", 4096},
      {"1B", 1'000'000'000},
      {"15T", 15'000'000'000'000},
      {"1e9", 1'000'000'000},
      {"10e9", 10'000'000'000},
      {"1.5e3", 1500},
      {"0.5B", 500'000'000},
      {"7b", 7'000'000'000},
      {"128k", 128'000},
      {"1_000", 1000},
      {"4096.0", 4096},
      {"0", 0},
      {"-0", 0},
      {"9223372036854775807", std::numeric_limits<Count>::max()},
  };
  for (const auto& [text, count] : rows) {
    INFO(text);
    const Parsed<Count> parsed = parse_count(text);
    REQUIRE(parsed);
    CHECK(*parsed == count);
  }
  CHECK(to_string(*parse_large_count("6e19")) == "60000000000000000000");
  CHECK(*parse_counts("512, 256,1k") == std::vector<Count>{512, 256, 1000});
}

TEST_CASE("quantity: fractions") {
  CHECK(*parse_fraction("40%") == 0.4);
  CHECK(*parse_fraction("0.4") == 0.4);
  CHECK(*parse_fraction("140 %") == 1.4);  // whether that makes sense is the caller's question
  CHECK(*parse_number("-1.5e-3") == -1.5e-3);
}

namespace {

template <class T>
void refused(const Parsed<T>& parsed, const std::string& message, const std::string& hint = "") {
  CHECK_FALSE(parsed);
  CHECK_THAT(parsed.message, ContainsSubstring(message));
  CHECK_THAT(parsed.hint, ContainsSubstring(hint));
}

}  // namespace

TEST_CASE("quantity: what is no quantity is refused, and the message says why") {
  refused(parse_bytes("80"), "has no unit", "GiB");
  refused(parse_bytes("80 TB/s"), "is a transfer rate; a size in bytes is needed");
  refused(parse_byte_rate("80 GB"), "is a size in bytes; a transfer rate is needed");
  refused(parse_flop_rate("3 TFLOP"), "is a number of operations");
  refused(parse_frequency("700 W"), "is a power");
  refused(parse_bytes("80 gib"), "unknown unit 'gib'", "did you mean GiB");
  refused(parse_bytes("80 Gb"), "unknown unit 'Gb'", "GB is 10^9 bytes, GiB is 2^30");
  refused(parse_bytes("80 MIB"), "unknown unit", "MiB");
  refused(parse_bytes("80 GiBB"), "unknown unit", "GiB");
  refused(parse_power("700 mW"), "unknown unit", "W");  // no device is that small: a slip for MW or W
  refused(parse_bytes("-1 GB"), "is negative");
  refused(parse_bytes("big"), "'big' is not a number");
  refused(parse_bytes(""), "a number is missing");
  refused(parse_bytes("8 EiB"), "too large");
  refused(parse_bytes("1e999 B"), "too large");
  refused(parse_byte_rate("1e400 B/s"), "too large");
  refused(parse_count("1.5"), "not a whole number");
  refused(parse_count("1e-3"), "not a whole number");
  refused(parse_count("1e30"), "too large");
  refused(parse_count("99999999999999999999"), "too large");
  refused(parse_large_count("1e39"), "too large");
  refused(parse_count("-3"), "negative");
  refused(parse_count("3 GB"), "not a count");
  refused(parse_count("3x"), "not a count", "15T");
  refused(parse_count("x"), "'x' is not a number");
  refused(parse_count("--3"), "not a number");
  refused(parse_count("."), "not a number");
  refused(parse_counts("1,,2"), "a number is missing");
  refused(parse_fraction("40 percent"), "not a number", "40%");
  refused(parse_fraction("-0.1"), "negative");
  refused(parse_number("1e999"), "too large");
  refused(parse_number("nan"), "not a number");
  // Control characters from a hostile file must not reach a terminal.
  refused(parse_bytes("\x1b[31m"), "'\\x1b[31m'");
  refused(parse_bytes(std::string(10'000, '9') + "x"), "...");
}

TEST_CASE("quantity: each reader of a number with its unit refuses the same things") {
  const auto why = [](const auto& parsed) { return parsed ? std::string("accepted") : parsed.message; };
  struct Reader {
    std::string unit, other;  // its own, and one of another kind
    std::function<std::string(const std::string&)> read;
    bool bare = false;  // a number without a unit is one
  };
  const Reader readers[] = {
      {"GB", "GB/s", [&](const std::string& text) { return why(parse_bytes(text)); }},
      {"GB/s", "GB", [&](const std::string& text) { return why(parse_byte_rate(text)); }},
      {"TFLOP/s", "TFLOP", [&](const std::string& text) { return why(parse_flop_rate(text)); }},
      {"W", "s", [&](const std::string& text) { return why(parse_power(text)); }},
      {"MHz", "W", [&](const std::string& text) { return why(parse_frequency(text)); }},
      {"ms", "Hz", [&](const std::string& text) { return why(parse_duration(text)); }},
      {"FLOP/B", "B", [&](const std::string& text) { return why(parse_intensity(text)); }, true},
  };
  for (const Reader& reader : readers) {
    INFO(reader.unit);
    CHECK(reader.read("5 " + reader.unit) == "accepted");
    CHECK(reader.read("+5\t" + reader.unit + "\r\n") == "accepted");
    CHECK(reader.read("-0 " + reader.unit) == "accepted");
    CHECK(reader.read("") == "a number is missing");
    CHECK(reader.read(" \t\r\n") == "a number is missing");
    CHECK(reader.read(reader.unit) == "'" + reader.unit + "' is not a number");
    CHECK_THAT(reader.read("-5 " + reader.unit), ContainsSubstring("is negative"));
    CHECK_THAT(reader.read("5e " + reader.unit), ContainsSubstring("has an unknown unit 'e " + reader.unit));
    CHECK_THAT(reader.read("5e+ " + reader.unit), ContainsSubstring("has an unknown unit 'e+ " + reader.unit));
    CHECK_THAT(reader.read("5 " + reader.other), ContainsSubstring(" is needed"));
    CHECK_THAT(reader.read("1e400 " + reader.unit), ContainsSubstring("is too large"));
    CHECK_THAT(reader.read("5"), ContainsSubstring(reader.bare ? "accepted" : "has no unit"));
  }
  for (const char* text : {"5k", "5K", "5M", "5m", "5B", "5b", "5T", "5t"}) CHECK(parse_count(text));
  CHECK_THAT(parse_fraction("-5%").message, ContainsSubstring("is negative"));
  CHECK(*parse_fraction("-0") == 0);
}

TEST_CASE("quantity: a very long number costs no more than its length") {
  const std::string digits(100'000, '1');
  refused(parse_count(digits), "too large");
  CHECK(*parse_number("0." + digits) == Approx(1.0 / 9));
  refused(parse_number("1e" + digits), "too large");
  CHECK(*parse_number("1e-" + digits) == 0);
}

TEST_CASE("quantity: formatting") {
  CHECK(format_count(0) == "0");
  CHECK(format_count(999) == "999");
  CHECK(format_count(1000) == "1,000");
  CHECK(format_count(8'030'261'248) == "8,030,261,248");
  CHECK(format_count(-1234567) == "-1,234,567");
  CHECK(format_short_count(9999) == "9999");
  CHECK(format_short_count(8'030'261'248) == "8.030B");
  CHECK(format_short_count(15'000'000'000'000) == "15T");
  CHECK(format_short_count(124'439'808) == "124.4M");
  CHECK(format_gib(Bytes(67'108'864)) == "64 MiB");
  CHECK(format_gib(Bytes(512)) == "512 B");
  CHECK(format_gib(Bytes(16'060'522'496)) == "14.96 GiB");
  CHECK(format_gb(Bytes(16'060'522'496)) == "16.06 GB");
  CHECK(format_both(Bytes(16'060'522'496)) == "14.96 GiB (16.06 GB)");
  CHECK(format_both(Bytes(100)) == "100 B");
  CHECK(format_gib(Bytes(1'073'741'823)) == "1.000 GiB");  // not 1024 MiB, and not exactly 1 GiB
  CHECK(format_rate(FlopsPerSecond(989.4e12)) == "989.4 TFLOP/s");
  CHECK(format_rate(BytesPerSecond(3.35e12)) == "3.35 TB/s");
  CHECK(format_flops(Flops(Int128(60) * 1'000'000'000'000'000'000)) == "60 EFLOP");
  CHECK(format_intensity(FlopsPerByte(989.4 / 3.35)) == "295.3 FLOP/B");
  CHECK(format_time(Seconds(1.5e6)) == "17.36 days");
  CHECK(format_time(Seconds(12.3e-6)) == "12.3 us");
  CHECK(format_time(Seconds(4.56e-3)) == "4.56 ms");
  CHECK(format_time(Seconds(59.99)) == "59.99 s");
  CHECK(format_time(Seconds(90)) == "1.5 min");
  CHECK(format_time(Seconds(7200)) == "2 h");
  CHECK(format_time(Seconds(0)) == "0 ns");
  CHECK(format_percent(0.4) == "40.0 %");
  CHECK(format_dollars(3.99) == "$3.99");
  CHECK(format_dollars(1234567.4) == "$1,234,567");
  CHECK(format_power(Watts(700)) == "700 W");
  CHECK(format_frequency(Hertz(1.83e9)) == "1.83 GHz");
  CHECK(format_fixed(-0.0001, 2) == "0.00");
  CHECK(format_significant(9.996, 3) == "10.0");
  CHECK(format_significant(0.012345, 3) == "0.0123");
  CHECK(format_significant(123456, 3) == "123456");
  CHECK(format_scientific(6e19, 3) == "6.00e19");
  CHECK(format_scientific(1.5e-7, 2) == "1.5e-7");
  CHECK(format_fixed(std::numeric_limits<double>::infinity(), 2) == "inf");
}

TEST_CASE("quantity: what is written can be read again") {
  for (Count bytes : {Count{1}, Count{4096}, Count{67'108'864}, Count{1'610'612'736}, Count{85'899'345'920}}) {
    INFO(bytes);
    CHECK(parse_bytes(format_gib(Bytes(bytes))).value == Bytes(bytes));
  }
  CHECK((*parse_flop_rate(format_rate(FlopsPerSecond(989.4e12)))).value() == 989.4e12);
}
