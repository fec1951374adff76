// Reading numbers with units. Digits are kept exactly until the last step: a size is an integer, and a rate is the
// double nearest to what was written.
#include "core/quantity.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "core/suggest.hpp"

namespace llmcalc {
namespace {

enum class UnitKind { bytes, byte_rate, flop_rate, flops, power, frequency, time, intensity };

struct KindWords {
  UnitKind kind;
  const char* is;       // what a text with such a unit is
  const char* wanted;   // what is needed where such a unit is due
  const char* example;  // unit texts to offer after a bare number
};

constexpr KindWords kind_words[] = {
    {UnitKind::bytes, "a size in bytes", "a size in bytes", "GB (10^9 bytes) or GiB (2^30 bytes)"},
    {UnitKind::byte_rate, "a transfer rate", "a transfer rate", "GB/s or TB/s"},
    {UnitKind::flop_rate, "a computing rate", "a computing rate", "TFLOP/s"},
    {UnitKind::flops, "a number of operations", "a number of operations", "TFLOP"},
    {UnitKind::power, "a power", "a power", "W"},
    {UnitKind::frequency, "a frequency", "a frequency", "MHz or GHz"},
    {UnitKind::time, "a time", "a time", "s or ms"},
    {UnitKind::intensity, "an intensity", "an intensity", "FLOP/B"},
};

const KindWords& words(UnitKind kind) {
  for (const KindWords& w : kind_words) {
    if (w.kind == kind) return w;
  }
  return kind_words[0];
}

struct Base {
  const char* symbol;
  UnitKind kind;
};

// The first spelling of a kind is the one offered in hints.
constexpr Base bases[] = {
    {"B", UnitKind::bytes},          {"B/s", UnitKind::byte_rate},     {"FLOP/s", UnitKind::flop_rate},
    {"FLOPS", UnitKind::flop_rate},  {"FLOPs/s", UnitKind::flop_rate}, {"OP/s", UnitKind::flop_rate},
    {"OPS", UnitKind::flop_rate},    {"FLOP", UnitKind::flops},        {"FLOPs", UnitKind::flops},
    {"W", UnitKind::power},          {"Hz", UnitKind::frequency},      {"s", UnitKind::time},
    {"FLOP/B", UnitKind::intensity},
};

struct Prefix {
  const char* symbol;
  int exponent;  // of 10, or of 2 for the binary ones
  bool binary;
};

constexpr Prefix prefixes[] = {
    {"", 0, false},   {"k", 3, false},  {"K", 3, false},  {"M", 6, false},  {"G", 9, false},       {"T", 12, false},
    {"P", 15, false}, {"E", 18, false}, {"Ki", 10, true}, {"Mi", 20, true}, {"Gi", 30, true},      {"Ti", 40, true},
    {"Pi", 50, true}, {"Ei", 60, true}, {"m", -3, false}, {"u", -6, false}, {"\u00b5", -6, false}, {"n", -9, false},
};

struct WordUnit {
  const char* text;
  UnitKind kind;
  Count factor;
};

constexpr Count minute = 60, hour = 60 * minute, day = 24 * hour;  // seconds
constexpr WordUnit word_units[] = {
    {"byte", UnitKind::bytes, 1}, {"bytes", UnitKind::bytes, 1},  {"min", UnitKind::time, minute},
    {"h", UnitKind::time, hour},  {"hour", UnitKind::time, hour}, {"hours", UnitKind::time, hour},
    {"d", UnitKind::time, day},   {"day", UnitKind::time, day},   {"days", UnitKind::time, day},
    {"sec", UnitKind::time, 1},   {"seconds", UnitKind::time, 1},
};

struct Unit {
  UnitKind kind = UnitKind::bytes;
  int exponent = 0;  // of 10
  Count factor = 1;  // on top of it
};

bool prefix_fits(const Prefix& prefix, UnitKind kind) {
  if (prefix.binary) return kind == UnitKind::bytes || kind == UnitKind::byte_rate;
  if (prefix.exponent < 0) return kind == UnitKind::time;
  return kind != UnitKind::time || prefix.exponent == 0;
}

std::optional<Unit> find_unit(std::string_view text) {
  for (const WordUnit& word : word_units) {
    if (text == word.text) return Unit{word.kind, 0, word.factor};
  }
  for (const Base& base : bases) {
    const std::string_view symbol = base.symbol;
    if (text.size() < symbol.size() || text.substr(text.size() - symbol.size()) != symbol) continue;
    const std::string_view front = text.substr(0, text.size() - symbol.size());
    for (const Prefix& prefix : prefixes) {
      if (front != prefix.symbol || !prefix_fits(prefix, base.kind)) continue;
      return prefix.binary ? Unit{base.kind, 0, Count{1} << prefix.exponent} : Unit{base.kind, prefix.exponent, 1};
    }
  }
  return std::nullopt;
}

std::string unit_hint(std::string_view text, UnitKind wanted) {
  std::vector<std::string> known;
  for (const Base& base : bases) {
    if (base.kind != wanted) continue;
    for (const Prefix& prefix : prefixes) {
      if (prefix_fits(prefix, wanted)) known.push_back(std::string(prefix.symbol) + base.symbol);
    }
  }
  std::string hint = did_you_mean(text, known, 2);
  if (wanted == UnitKind::bytes || wanted == UnitKind::byte_rate) {
    hint += hint.empty() ? "" : " ";
    hint += "GB is 10^9 bytes, GiB is 2^30; upper and lower case count";
  } else if (hint.empty()) {
    hint = std::string("write ") + words(wanted).example;
  }
  return hint;
}

// A decimal number as written: digits x 10^exponent.
struct Decimal {
  Int128 digits = 0;
  int exponent = 0;
  bool negative = false;
  std::string_view rest;  // what follows, trimmed
};

constexpr int most_digits = 36;        // of an Int128, with room for one more step
constexpr int largest_exponent = 999;  // far beyond every type; keeps sums of exponents small

std::string_view trimmed(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// The exponent of "1e9", when an `e` is followed by digits ("1 EB" and "5 exa" are not exponents).
std::size_t read_exponent(std::string_view text, std::size_t at, int& exponent) {
  if (at >= text.size() || (text[at] != 'e' && text[at] != 'E')) return at;
  std::size_t i = at + 1;
  const bool negative = i < text.size() && text[i] == '-';
  if (i < text.size() && (text[i] == '-' || text[i] == '+')) ++i;
  if (i >= text.size() || !is_digit(text[i])) return at;
  int value = 0;
  for (; i < text.size() && is_digit(text[i]); ++i) {
    if (value < largest_exponent) value = value * 10 + (text[i] - '0');
  }
  value = std::min(value, largest_exponent);
  exponent += negative ? -value : value;
  return i;
}

std::optional<Decimal> read_decimal(std::string_view text) {
  text = trimmed(text);
  Decimal number;
  std::size_t i = 0;
  if (i < text.size() && (text[i] == '-' || text[i] == '+')) number.negative = text[i++] == '-';
  bool any = false, point = false;
  int used = 0;
  for (; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '.' && !point) {
      point = true;
    } else if (c == '_' && any && i + 1 < text.size() && is_digit(text[i + 1])) {
      continue;  // 1_000
    } else if (is_digit(c)) {
      any = true;
      if (used < most_digits) {
        number.digits = number.digits * 10 + (c - '0');
        used += number.digits != 0;
        number.exponent -= point;
      } else if (!point && number.exponent < largest_exponent) {
        ++number.exponent;  // digits beyond the 36th: their place counts, their value does not
      }
    } else {
      break;
    }
  }
  if (!any) return std::nullopt;
  i = read_exponent(text, i, number.exponent);
  number.rest = trimmed(text.substr(i));
  while (number.digits != 0 && number.digits % 10 == 0) {
    number.digits /= 10;
    ++number.exponent;
  }
  if (number.digits == 0) number.exponent = 0;
  return number;
}

// digits x 10^exponent x factor, exactly. `whole` says whether nothing was rounded away. Empty: too large.
std::optional<Int128> exact(const Decimal& number, int exponent, Count factor, bool& whole) {
  Int128 value = 0;
  if (__builtin_mul_overflow(number.digits, static_cast<Int128>(factor), &value)) return std::nullopt;
  int e = number.exponent + exponent;
  whole = true;
  for (; e > 0 && value != 0; --e) {
    if (__builtin_mul_overflow(value, static_cast<Int128>(10), &value)) return std::nullopt;
  }
  Int128 last = 0;
  bool below = false;  // non-zero digits below the last one cut off
  for (; e < 0 && (value != 0 || last != 0); ++e) {
    below = below || last != 0;
    last = value % 10;
    value /= 10;
  }
  whole = last == 0 && !below;
  return last >= 5 ? value + 1 : value;
}

// The double nearest to digits x 10^exponent, times factor.
double real(const Decimal& number, int exponent, Count factor) {
  const std::string text = to_string(number.digits) + "e" + std::to_string(number.exponent + exponent);
  double value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem == std::errc::result_out_of_range) {
    value = number.exponent + exponent > 0 ? std::numeric_limits<double>::infinity() : 0.0;
  }
  value *= static_cast<double>(factor);
  return number.negative ? -value : value;
}

template <class T>
Parsed<T> fail(std::string message, std::string hint = {}) {
  return {std::nullopt, std::move(message), std::move(hint)};
}

template <class T>
Parsed<T> not_a_number(std::string_view text) {
  return fail<T>(trimmed(text).empty() ? "a number is missing" : in_quotes(trimmed(text)) + " is not a number");
}

// Reads the number and its unit, which must be of the kind wanted. On failure `result` holds what to say.
template <class T>
std::optional<std::pair<Decimal, Unit>> with_unit(std::string_view text, UnitKind wanted, bool bare,
                                                  Parsed<T>& result) {
  const std::optional<Decimal> number = read_decimal(text);
  if (!number) {
    result = not_a_number<T>(text);
    return std::nullopt;
  }
  const std::string shown = in_quotes(trimmed(text));
  if (number->negative && number->digits != 0) {
    result = fail<T>(shown + " is negative");
    return std::nullopt;
  }
  if (number->rest.empty()) {
    if (bare) return std::pair(*number, Unit{wanted, 0, 1});
    result = fail<T>(shown + " has no unit; " + words(wanted).wanted + " is needed",
                     std::string("write ") + words(wanted).example);
    return std::nullopt;
  }
  const std::optional<Unit> unit = find_unit(number->rest);
  if (!unit) {
    result = fail<T>(shown + " has an unknown unit " + in_quotes(number->rest), unit_hint(number->rest, wanted));
    return std::nullopt;
  }
  if (unit->kind != wanted) {
    result = fail<T>(shown + " is " + words(unit->kind).is + "; " + words(wanted).wanted + " is needed",
                     std::string("write ") + words(wanted).example);
    return std::nullopt;
  }
  return std::pair(*number, *unit);
}

template <class T>
Parsed<T> parse_real(std::string_view text, UnitKind wanted, bool bare = false) {
  Parsed<T> result;
  const auto read = with_unit(text, wanted, bare, result);
  if (!read) return result;
  const double value = real(read->first, read->second.exponent, read->second.factor);
  if (!std::isfinite(value)) return fail<T>(in_quotes(trimmed(text)) + " is too large");
  result.value = T(value);
  return result;
}

int count_suffix(std::string_view rest) {
  if (rest == "k" || rest == "K") return 3;
  if (rest == "M" || rest == "m") return 6;
  if (rest == "B" || rest == "b") return 9;
  if (rest == "T" || rest == "t") return 12;
  return rest.empty() ? 0 : -1;
}

}  // namespace

Parsed<Bytes> parse_bytes(std::string_view text) {
  Parsed<Bytes> result;
  const auto read = with_unit(text, UnitKind::bytes, false, result);
  if (!read) return result;
  bool whole = true;
  const std::optional<Int128> value = exact(read->first, read->second.exponent, read->second.factor, whole);
  if (!value || *value > std::numeric_limits<Count>::max())
    return fail<Bytes>(in_quotes(trimmed(text)) + " is too large");
  result.value = Bytes(static_cast<Count>(*value));
  return result;
}

Parsed<BytesPerSecond> parse_byte_rate(std::string_view text) {
  return parse_real<BytesPerSecond>(text, UnitKind::byte_rate);
}
Parsed<FlopsPerSecond> parse_flop_rate(std::string_view text) {
  return parse_real<FlopsPerSecond>(text, UnitKind::flop_rate);
}
Parsed<Watts> parse_power(std::string_view text) { return parse_real<Watts>(text, UnitKind::power); }
Parsed<Hertz> parse_frequency(std::string_view text) { return parse_real<Hertz>(text, UnitKind::frequency); }
Parsed<Seconds> parse_duration(std::string_view text) { return parse_real<Seconds>(text, UnitKind::time); }
Parsed<FlopsPerByte> parse_intensity(std::string_view text) {
  return parse_real<FlopsPerByte>(text, UnitKind::intensity, true);
}

Parsed<Int128> parse_large_count(std::string_view text) {
  const std::optional<Decimal> number = read_decimal(text);
  if (!number) return not_a_number<Int128>(text);
  const std::string shown = in_quotes(trimmed(text));
  const int suffix = count_suffix(number->rest);
  if (suffix < 0) {
    const std::string hint = find_unit(number->rest) ? "a bare count is needed here" : "write 4096, 1e9, 1B or 15T";
    return fail<Int128>(shown + " is not a count", hint);
  }
  if (number->negative && number->digits != 0) return fail<Int128>(shown + " is negative");
  bool whole = true;
  const std::optional<Int128> value = exact(*number, suffix, 1, whole);
  if (!value) return fail<Int128>(shown + " is too large");
  if (!whole) return fail<Int128>(shown + " is not a whole number");
  return {value, {}, {}};
}

Parsed<Count> parse_count(std::string_view text) {
  Parsed<Int128> large = parse_large_count(text);
  if (!large) return fail<Count>(std::move(large.message), std::move(large.hint));
  if (*large > std::numeric_limits<Count>::max()) return fail<Count>(in_quotes(trimmed(text)) + " is too large");
  return {static_cast<Count>(*large), {}, {}};
}

Parsed<double> parse_number(std::string_view text) {
  const std::optional<Decimal> number = read_decimal(text);
  if (!number || !number->rest.empty()) return not_a_number<double>(text);
  const double value = real(*number, 0, 1);
  if (!std::isfinite(value)) return fail<double>(in_quotes(trimmed(text)) + " is too large");
  return {value, {}, {}};
}

Parsed<double> parse_fraction(std::string_view text) {
  const std::optional<Decimal> number = read_decimal(text);
  if (!number || (!number->rest.empty() && number->rest != "%")) {
    Parsed<double> result = not_a_number<double>(text);
    result.hint = "write 0.4 or 40%";
    return result;
  }
  if (number->negative && number->digits != 0) return fail<double>(in_quotes(trimmed(text)) + " is negative");
  constexpr int percent = -2;  // exponent of 10
  const double value = real(*number, number->rest.empty() ? 0 : percent, 1);
  if (!std::isfinite(value)) return fail<double>(in_quotes(trimmed(text)) + " is too large");
  return {value, {}, {}};
}

Parsed<std::vector<Count>> parse_counts(std::string_view text) {
  std::vector<Count> result;
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t comma = std::min(text.find(',', start), text.size());
    Parsed<Count> one = parse_count(text.substr(start, comma - start));
    if (!one) return fail<std::vector<Count>>(std::move(one.message), std::move(one.hint));
    result.push_back(*one);
    start = comma + 1;
  }
  return {std::move(result), {}, {}};
}

}  // namespace llmcalc
