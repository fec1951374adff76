// Formulas written once: value, symbolic and substituted form, units, and the way back.
#include "core/formula.hpp"

#include <random>

#include "tests/catch.hpp"

using namespace llmcalc;
using Catch::Matchers::ContainsSubstring;
using formula::occurrences;
using formula::solve;
using formula::substituted;
using formula::symbolic;
using formula::Unsolvable;

namespace {

Traced number(const char* sign, const Number& value) { return Traced::symbol(sign, value, dim::none); }
Traced open(const char* sign) { return Traced::unknown(sign, dim::none); }

// 6 N D / (G P MFU), over any number type.
template <class N>
N training_time(const N& parameters, const N& tokens, const N& devices, const N& peak, const N& mfu) {
  return constant<N>(6, dim::flop / dim::parameter / dim::token) * parameters * tokens / (devices * peak * mfu);
}

// Every function a formula can use, in one. `a` to `c` are positive.
template <class N>
N everything(const N& a, const N& b, const N& c) {
  const N branch = where(at_most(a, b), a * b, a / b);
  const N chosen = max_of(min_of(a, c), b - c);
  return sum<N>("i", N(3), [&](Index i) { return ceil_div(a, c) * number<N>(i); }) + branch - chosen + floor_of(b / c) +
         power_of(a, 2) + root_of(c) + log_of(b) + exp_of(1 / a);
}

}  // namespace

TEST_CASE("plain numbers just compute") {
  CHECK(training_time(1e9, 1e10, 1.0, 1e14, 0.4) == Approx(1.5e6));
  CHECK(training_time<Number>(Count{1'000'000'000}, Count{10'000'000'000}, 1, Count{100'000'000'000'000},
                              Number::fraction(2, 5)) == Number(1'500'000));
}

TEST_CASE("a traced formula gives value, symbolic and substituted form, and unit") {
  const Traced time = training_time(Traced::symbol("N", Count{1'000'000'000}, dim::parameter),
                                    Traced::symbol("D", Count{10'000'000'000}, dim::token), number("G", 1),
                                    Traced::symbol("P", Count{100'000'000'000'000}, dim::flops_per_second),
                                    Traced::symbol("MFU", Number::fraction(2, 5), dim::none, "40 %"));
  CHECK(time.value() == Number(1'500'000));
  CHECK(time.dimension() == dim::second);
  CHECK(symbolic(time) == "6 · N · D / (G · P · MFU)");
  CHECK(substituted(time) == "6 · 10⁹ parameters · 10¹⁰ tokens / (1 · 100 TFLOP/s · 40 %)");
}

TEST_CASE("sums show their general term, and their terms when they are few") {
  const auto layers = [](const Traced& count) {
    return sum<Traced>("l", count,
                       [](Index l) { return min_of(number<Traced>(l), Traced::symbol("w", 2, dim::none)); });
  };
  const Traced three = layers(number("L", 3));
  CHECK(symbolic(three) == "Σ_{l=1..L} min(l, w)");
  CHECK(substituted(three) == "min(1, 2) + min(2, 2) + min(3, 2)");
  CHECK(three.value() == Number(5));  // 1 + 2 + 2
  CHECK(substituted(layers(number("L", 32))) == "min(1, 2) + min(2, 2) + … + min(32, 2) [32 terms]");
  CHECK(layers(number("L", 32)).value() == Number(63));  // 1 + 31 · 2

  const Traced alike = sum<Traced>("l", number("L", 32), [](Index) { return number("h", 4096) * 4; });
  CHECK(symbolic(alike) == "Σ_{l=1..L} h · 4");
  CHECK(substituted(alike) == "32 · 4,096 · 4");
  CHECK(symbolic(2 * alike) == "2 · (Σ_{l=1..L} h · 4)");

  const List<Traced> sizes{"n", {number("n_1", 4), number("n_2", 2)}};
  const Traced all = sum<Traced>("i", sizes.count("m"), [&](Index i) { return sizes[i]; });
  CHECK(symbolic(all) == "Σ_{i=1..m} n_i");
  CHECK(substituted(all) == "4 + 2");
  CHECK_THROWS_AS(layers(number("L", 0)), Error);
  CHECK_THROWS_AS(layers(number("L", Number::fraction(1, 2))), Error);
  CHECK_THROWS_AS(layers(number("L", Count{1} << 40)), Error);
}

TEST_CASE("a branch says which way it went and why") {
  const auto pairs = [](Count seq) {
    const Traced t = number("T", seq);
    const Traced w = number("W", 4096);
    return where(at_most(t, w), t * t, w * t);
  };
  CHECK(symbolic(pairs(8)) == "(T · T if T ≤ W, else W · T)");
  CHECK(substituted(pairs(8)) == "(8 · 8, as 8 ≤ 4,096)");
  CHECK(substituted(pairs(5000)) == "(4,096 · 5,000, as 5,000 > 4,096)");
  CHECK(pairs(5000).value() == Number(20'480'000));
}

TEST_CASE("rounding, powers, roots and negation in print") {
  const Traced a = number("a", 10);
  const Traced b = number("b", 3);
  CHECK(symbolic(ceil_div(a, b)) == "⌈a / b⌉");
  CHECK(ceil_div(a, b).value() == Number(4));
  CHECK(symbolic(floor_of(a / b) + power_of(a, 2) - root_of(b)) == "⌊a / b⌋ + a² − √(b)");
  CHECK(symbolic(a - (b - a)) == "a − (b − a)");
  CHECK(symbolic((a + b) * a / b) == "(a + b) · a / b");
  CHECK(symbolic(a / b / (a + b)) == "a / (b · (a + b))");
  CHECK(symbolic(a / (a / b)) == "a / (a / b)");
  CHECK(symbolic((a / b) * a) == "(a / b) · a");
  CHECK(symbolic(0 - log_of(b)) == "−ln(b)");
  CHECK(substituted(a * number("c", -18)) == "10 · (−18)");
  CHECK(substituted(power_of(Traced::symbol("T", 8, dim::token), 2)) == "(8 tokens)²");
}

TEST_CASE("the three number types agree") {
  std::mt19937 random(7);
  std::uniform_int_distribution<int> draw(1, 60);
  for (int round = 0; round < 500; ++round) {
    const int a = draw(random);
    const int b = draw(random);
    const int c = draw(random);
    const double plain = everything<double>(a, b, c);
    const Number exact = everything<Number>(a, b, c);
    const Traced traced = everything<Traced>(number("a", a), number("b", b), number("c", c));
    CAPTURE(a, b, c);
    CHECK(exact.as_double() == Approx(plain).margin(1e-9));
    CHECK(traced.value() == exact);
  }
}

TEST_CASE("units that do not fit are noticed") {
  const Traced bytes = Traced::symbol("X", 8, dim::byte);
  const Traced flops = Traced::symbol("F", 8, dim::flop);
  CHECK_THROWS_AS(bytes + flops, FormulaError);
  CHECK_THROWS_AS(bytes - flops, FormulaError);
  CHECK_THROWS_AS(max_of(bytes, flops), FormulaError);
  CHECK_THROWS_AS(min_of(bytes, flops), FormulaError);
  CHECK_THROWS_AS(where(at_most(bytes, flops), bytes, bytes), FormulaError);
  CHECK_THROWS_AS(where(at_most(bytes, bytes), bytes, flops), FormulaError);
  CHECK_THROWS_AS(log_of(bytes), FormulaError);
  CHECK_THROWS_AS(root_of(bytes), FormulaError);
  CHECK(root_of(bytes * bytes).dimension() == dim::byte);
  CHECK_THROWS_AS(exp_of(bytes), FormulaError);
  CHECK_THROWS_AS(1 + bytes, FormulaError);
  CHECK_THROWS_WITH(bytes + flops, ContainsSubstring("B and FLOP"));
  CHECK((flops / bytes).dimension() == dim::flop / dim::byte);
  CHECK(to_string((flops / bytes).dimension()) == "FLOP/B");
  CHECK(to_string(dim::flop / (dim::parameter * dim::token)) == "FLOP/(token·parameter)");
  CHECK(to_string(dim::none / dim::token) == "1/token");
}

// A roofline written wrongly, I / β where I · β is due: the units give it away.
TEST_CASE("a wrong formula is noticed") {
  const Traced peak = Traced::symbol("P", Count{100'000'000'000'000}, dim::flops_per_second);
  const Traced intensity = Traced::symbol("I", 20, dim::flop / dim::byte);
  const Traced bandwidth = Traced::symbol("β", Count{1'000'000'000'000}, dim::bytes_per_second);
  CHECK_NOTHROW(min_of(peak, intensity * bandwidth));
  CHECK_THROWS_AS(min_of(peak, intensity / bandwidth), FormulaError);
}

TEST_CASE("solved for each symbol of a formula") {
  // y = (a + b) · c / d − e, with a = 1, b = 2, c = 8, d = 4, e = 5: y = 1.
  const std::vector<std::pair<const char*, int>> values = {{"a", 1}, {"b", 2}, {"c", 8}, {"d", 4}, {"e", 5}};
  for (const auto& [wanted, due] : values) {
    std::vector<Traced> s;
    for (const auto& [sign, value] : values) s.push_back(sign == wanted ? open(sign) : number(sign, value));
    const Traced y = (s[0] + s[1]) * s[2] / s[3] - s[4];
    CHECK_FALSE(y.has_value());
    CHECK(solve(y, wanted, number("y", 1)).value() == Number(due));
  }
  const Traced time = Traced::symbol("C", 100, dim::flop) / (number("G", 2) * open("MFU"));
  CHECK(symbolic(solve(time, "MFU", Traced::symbol("t", 5, dim::flop))) == "C / (t · G)");
}

TEST_CASE("solved through powers, roots, logarithms and sums") {
  CHECK(solve(power_of(open("x"), 2), "x", number("y", 9)).value() == Number(3));
  CHECK(solve(1 / root_of(open("x")), "x", number("y", Number::fraction(1, 64))).value() == Number(4096));
  CHECK(solve(log_of(open("x")), "x", number("y", 0)).value() == Number(1));
  CHECK(solve(exp_of(open("x")), "x", number("y", 1)).value() == Number(0));
  const List<Traced> sizes{"n", {number("n_1", 4), open("n_2"), number("n_3", 1)}};
  const Traced total = sum<Traced>("i", sizes.count("m"), [&](Index i) { return sizes[i]; });
  CHECK(solve(total, "n_2", number("y", 12)).value() == Number(7));
}

TEST_CASE("solved through a choice only where the unknown decides") {
  const auto roofline = [](const Traced& intensity) { return min_of(number("P", 100), intensity * number("b", 2)); };
  CHECK(solve(roofline(open("I")), "I", number("R", 20)).value() == Number(10));
  CHECK_THROWS_WITH(solve(roofline(open("I")), "I", number("R", 100)), ContainsSubstring("equal at 50"));
  CHECK_THROWS_WITH(solve(roofline(open("I")), "I", number("R", 120)), ContainsSubstring("never above P = 100"));
  CHECK_THROWS_WITH(solve(max_of(open("x"), number("P", 3)), "x", number("R", 2)), ContainsSubstring("never below P"));

  const auto branch = [](int seq, const Traced& x) {
    return where(at_most(number("T", seq), number("W", 8)), x, number("z", 1));
  };
  CHECK(solve(branch(8, open("x")), "x", number("y", 5)).value() == Number(5));
  CHECK_THROWS_WITH(solve(branch(9, open("x")), "x", number("y", 1)), ContainsSubstring("not taken"));
}

TEST_CASE("what cannot be solved says why") {
  const Traced x = open("x");
  CHECK_THROWS_WITH(solve(x * x, "x", number("y", 4)), ContainsSubstring("2 times"));
  CHECK_THROWS_WITH(solve(number("a", 1) + 1, "x", number("y", 4)), ContainsSubstring("does not stand"));
  CHECK_THROWS_WITH(solve(ceil_div(x, 3), "x", number("y", 4)), ContainsSubstring("rounding"));
  CHECK_THROWS_WITH(solve(where(at_most(x, 3), Traced(1), Traced(2)), "x", number("y", 1)),
                    ContainsSubstring("decides"));
  const Traced count = sum<Traced>("i", x, [](Index) { return Traced(1); });
  CHECK_THROWS_WITH(solve(count, "x", number("y", 1)), ContainsSubstring("number of terms"));
  CHECK_THROWS_WITH(solve(root_of(x), "x", number("y", -2)), ContainsSubstring("no value"));
  CHECK_THROWS_AS(solve(x, "x", Traced::symbol("y", 1, dim::byte)), FormulaError);
  CHECK(occurrences(x * x + 1, "x") == 2);
}

TEST_CASE("numbers stay exact") {
  CHECK(Number::as_written(0.4) == Number::fraction(2, 5));
  CHECK(Number::as_written(-1.25) == Number::fraction(-5, 4));
  CHECK(Number(3.35e12).integer() == 3'350'000'000'000);
  CHECK(Number(1) / Number(3) * Number(3) == Number(1));
  CHECK(Number(1) / Number(3) + Number(1) / Number(6) == Number::fraction(1, 2));
  CHECK(to_digits(power(Number(10), 26) * 6) == "600000000000000000000000000");
  CHECK(floor(Number::fraction(-7, 2)) == Number(-4));
  CHECK(ceil(Number::fraction(7, 2)) == Number(4));
  CHECK(sqrt(Number(4096)) == Number(64));
  CHECK_FALSE(sqrt(Number(2)).is_exact());
  CHECK(to_digits(Number::fraction(3, 8)) == "0.375");
  CHECK_THROWS_AS(power(Number(10), 40), Overflow);
  CHECK_THROWS_AS(Number(1) / Number(0), std::domain_error);
  CHECK_THROWS_AS(log(Number(0)), std::domain_error);
  CHECK_THROWS_AS(sqrt(Number(-1)), std::domain_error);
  CHECK_THROWS_AS(Number(1e308 * 10), std::domain_error);
  // A fraction too fine for 128 bits goes on as a double.
  Number fine(1);
  for (int i = 0; i < 30; ++i) fine = fine * Number::fraction(1, 1009);
  CHECK_FALSE(fine.is_exact());
  CHECK(fine.as_double() == Approx(std::pow(1009.0, -30)));
}

TEST_CASE("a fraction that leaves 128 bits becomes a real, an integer does not") {
  Int128 large = 1;
  for (int i = 0; i < 30; ++i) large *= 10;  // 10^30; 2^127 is 1.7 x 10^38
  const Number tiny = Number::fraction(1, large), tinier = Number::fraction(1, large + 1),
               third = Number::fraction(large, 3), seventh = Number::fraction(large, 7);
  struct Row {
    Number value;
    double expected;
  };
  const Int128 most = Int128{1} << 125;
  const Row rows[] = {
      {tiny + tinier, 2e-30},                                                               // the denominator
      {third + tinier, 1e30 / 3},                                                           // the first numerator
      {tinier + third, 1e30 / 3},                                                           // the second
      {Number::fraction(most + 1, 2) + Number::fraction(most + 1, 2), std::ldexp(1, 125)},  // their sum
      {third * seventh, 1e60 / 21},                                                         // a product's numerator
      {tiny * tinier, 1e-60},                                                               // and denominator
  };
  for (const Row& row : rows) {
    INFO(row.expected);
    CHECK_FALSE(row.value.is_exact());
    CHECK(row.value.as_double() == Approx(row.expected).epsilon(1e-14));
  }
  CHECK(tiny < third);
  CHECK_FALSE(third < tiny);
  CHECK(Number(0.5) == Number::fraction(1, 2));  // a real, by its value
  CHECK_THROWS_AS(Number(large) * Number(large), Overflow);
  CHECK_THROWS_AS(Number::fraction(1, 0), std::domain_error);
  CHECK(power(Number(2), -3) == Number::fraction(1, 8));
  CHECK(power(Number(2), -3).is_exact());
}

TEST_CASE("numbers and values as people read them") {
  CHECK(to_text(Number(Count{6'738'415'616})) == "6,738,415,616");
  CHECK(to_text(Number(1'500'000)) == "1,500,000");
  CHECK(to_text(power(Number(10), 19) * 6) == "6·10¹⁹");
  CHECK(to_text(power(Number(10), 10) * 15) == "1.5·10¹¹");
  CHECK(to_text(power(Number(10), 10)) == "10¹⁰");
  CHECK(to_text(Number::fraction(-1, 8)) == "−0.125");
  CHECK(to_text(Number(0.00001234)) == "1.234·10⁻⁵");
  CHECK(to_text(Number(123456.7)) == "123,457");
  CHECK(formula::text(Count{67'108'864}, dim::byte) == "64 MiB");
  CHECK(formula::text(Count{16'000'000'000}, dim::byte) == "16 GB");
  CHECK(formula::text(Count{3'350'000'000'000}, dim::bytes_per_second) == "3.35 TB/s");
  CHECK(formula::text(Number::fraction(2, 3600), dim::dollar / dim::second) == "$2/h");
  CHECK(formula::text(1, dim::token) == "1 token");
}
