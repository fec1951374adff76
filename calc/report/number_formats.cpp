#include "report/number_formats.hpp"

#include <array>
#include <charconv>
#include <cmath>

#include "core/quantity.hpp"
#include "report/page.hpp"

namespace llmcalc::report {

namespace {

using number_format::Family;
using number_format::Format;
using number_format::Limits;
using number_format::Outcome;
using number_format::Stored;

constexpr int figures = 5;

// The shortest digits that read back as the same double.
std::string shortest(double value) {
  std::array<char, 32> digits{};
  const std::to_chars_result end = std::to_chars(digits.data(), digits.data() + digits.size(), value);
  return {digits.data(), end.ptr};
}

std::string rounded(double value) {
  std::array<char, 32> digits{};
  const std::to_chars_result end =
      std::to_chars(digits.data(), digits.data() + digits.size(), value, std::chars_format::general, figures);
  return {digits.data(), end.ptr};
}

// Empty for what there is not, and for what no double holds.
Cell number(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? Cell(rounded(*value), *value) : Cell("");
}

std::string fields(const Format& f) {
  if (f.family == Family::codebook) return "16 values";
  if (f.family == Family::integer) return f.is_signed ? "two's complement" : "unsigned";
  std::string text =
      (f.is_signed ? "1+" : "0+") + std::to_string(f.exponent_bits) + "+" + std::to_string(f.fraction_bits);
  if (f.family == Family::block) text += ", " + std::to_string(f.block) + " share " + f.scale;
  return text;
}

std::string bits_text(double bits) { return shortest(bits); }

std::string hex(const Format& f, std::uint64_t pattern) {
  constexpr int bits_a_digit = 4, base = 16;
  std::array<char, 20> digits{};
  const std::to_chars_result end = std::to_chars(digits.data(), digits.data() + digits.size(), pattern, base);
  std::string text(digits.data(), end.ptr);
  const auto width = static_cast<std::size_t>((f.bits + bits_a_digit - 1) / bits_a_digit);
  while (text.size() < width) text.insert(0, "0");
  return "0x" + text;
}

std::string stored_text(const Stored& s) {
  if (s.nan) return "nan";
  if (s.infinite) return s.negative ? "-inf" : "inf";
  return (s.negative ? "-" : "") + shortest(s.magnitude.as_double());
}

std::string outcome_text(const Stored& s) {
  std::string text(number_format::name_of(s.outcome));
  switch (s.outcome) {
    case Outcome::overflow: text += s.infinite ? ": too large, becomes infinity" : ": too large, becomes NaN"; break;
    case Outcome::underflow: text += ": too small, becomes 0"; break;
    case Outcome::saturated: text += ": kept at the end of the range"; break;
    default: break;
  }
  if (s.subnormal) text += " (subnormal: fewer bits)";
  return text;
}

std::optional<double> relative_error(const Stored& s, const AskedValue& value) {
  if (!s.error || value.value.is_zero()) return std::nullopt;
  const double size = number_format::distance(value.value, {}, false);  // |value|
  if (!(size > 0) || !std::isfinite(size)) return std::nullopt;
  return *s.error / size;
}

Json stored_json(const Format& f, const AskedValue& value) {
  const Stored s = number_format::store(f, value.value);
  Json json = Json::object();
  json.set("input", value.text);
  if (s.is_finite()) json.set("stored", s.value());
  json.set("text", stored_text(s)).set("bits", hex(f, s.pattern)).set("outcome", number_format::name_of(s.outcome));
  if (s.error && std::isfinite(*s.error)) json.set("error", *s.error);
  json.set("relative_error", relative_error(s, value));
  if (s.subnormal) json.set("subnormal", true);
  if (s.scale) json.set("scale", s.scale->as_double());
  return json;
}

}  // namespace

Json formats_json(const FormatList& formats, const std::optional<AskedValue>& value) {
  Json list = Json::array();
  for (const Format* f : formats) {
    const Limits limits = number_format::limits_of(*f);
    Json one = Json::object();
    one.set("name", f->name);
    if (*f->torch_name != '\0') one.set("torch_name", f->torch_name);
    one.set("bits", f->bits_per_value());
    one.set("bytes", f->family == Family::block ? f->bits_per_value() / 8 : f->bytes);
    if (f->exponent_bits > 0) one.set("exponent_bits", f->exponent_bits).set("fraction_bits", f->fraction_bits);
    one.set("max", limits.max).set("min", limits.min);
    one.set("min_normal", limits.min_normal).set("min_subnormal", limits.min_subnormal);
    one.set("epsilon", limits.epsilon).set("digits", limits.digits);
    if (f->family == Family::block) one.set("element", f->element).set("scale", f->scale).set("block", f->block);
    if (value) one.set("value", stored_json(*f, *value));
    list.push(std::move(one));
  }
  Json json = Json::object();
  return json.set("schema", "llmcalc.dtype/1").set("dtypes", std::move(list));
}

Table formats_table(const FormatList& formats) {
  Table table{{{"name"},
               {"bits", Align::right},
               {"bytes", Align::right},
               {"sign+exponent+fraction", Align::left, "fields"},
               {"largest", Align::right, "max"},
               {"least normal", Align::right, "min_normal"},
               {"least subnormal", Align::right, "min_subnormal"},
               {"epsilon", Align::right},
               {"digits", Align::right}},
              {}};
  for (const Format* f : formats) {
    const Limits limits = number_format::limits_of(*f);
    const double bits = f->bits_per_value();
    const double bytes = f->family == Family::block ? bits / 8 : f->bytes;
    table.rows.push_back({f->name, Cell(bits_text(bits), bits), Cell(shortest(bytes), bytes), fields(*f),
                          number(limits.max), number(limits.min_normal), number(limits.min_subnormal),
                          number(limits.epsilon),
                          limits.digits ? Cell(format_fixed(*limits.digits, 2), *limits.digits) : Cell("")});
  }
  return table;
}

Table stored_table(const FormatList& formats, const AskedValue& value) {
  Table table{{{"format"},
               {"stored", Align::right},
               {"bits"},
               {"error", Align::right},
               {"relative", Align::right, "relative_error"},
               {"outcome"}},
              {}};
  for (const Format* f : formats) {
    const Stored s = number_format::store(*f, value.value);
    const std::optional<double> relative = relative_error(s, value);
    std::string bits = hex(*f, s.pattern);
    if (s.scale) bits += " · " + shortest(s.scale->as_double());
    table.rows.push_back({f->name, stored_text(s), bits, number(s.error), number(relative), outcome_text(s)});
  }
  return table;
}

std::string formats_text(const FormatList& formats, const std::optional<AskedValue>& value, bool explain, bool markdown,
                         Style style) {
  Page page;
  if (value) {
    page.title(value->text + " as each format stores it");
    page.line(
        "Rounded to the nearest value the format has, to the even one of two. For block formats the value is the "
        "largest of its block, which sets the scale behind the point.");
    page.table(stored_table(formats, *value));
  } else {
    page.title("Number formats");
    page.table(formats_table(formats));
    for (const Format* f : formats)
      if (*f->note != '\0') page.bullet(std::string(f->name) + ": " + f->note);
  }
  if (explain) {
    page.heading("Why");
    page.line(
        "A number is ±1.fraction · 2^(exponent - bias), bias = 2^(exponent bits - 1) - 1 (fnuz formats: one more); "
        "with exponent 0 it is ±0.fraction · 2^(1 - bias), a subnormal.");
    for (const Format* f : formats) {
      if (f->exponent_bits == 0 || f->family == Family::block || f->family == Family::powers) continue;
      const Limits limits = number_format::limits_of(*f);
      const std::string e = std::to_string(1 - f->bias), n = std::to_string(f->fraction_bits);
      page.bullet(std::string(f->name) + ": bias " + std::to_string(f->bias) + "; least normal 2^" + e + " = " +
                  rounded(*limits.min_normal) + "; least subnormal 2^(" + e + " - " + n +
                  ") = " + rounded(*limits.min_subnormal) + "; epsilon 2^-" + n + " = " + rounded(*limits.epsilon) +
                  "; digits (" + n + " + 1) · log10 2 = " + format_fixed(*limits.digits, 2));
    }
    for (const Format* f : formats) {
      if (f->family != Family::block) continue;
      page.bullet(std::string(f->name) + ": bits = " + std::to_string(f->bits) + " of the element + " +
                  std::to_string(number_format::format_named(f->scale)->bits) + " of the scale / " +
                  std::to_string(f->block) + " elements = " + bits_text(f->bits_per_value()));
    }
  }
  return markdown ? page.as_markdown() : page.as_text(style);
}

}  // namespace llmcalc::report
