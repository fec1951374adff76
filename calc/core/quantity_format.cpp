// Writing numbers with units. No locale is ever consulted.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>

#include "core/quantity.hpp"

namespace llmcalc {
namespace {

constexpr int unit_figures = 4;  // 989.4 TFLOP/s, 14.96 GiB
constexpr double kilo = 1000, kibi = 1024;
constexpr double minute = 60, hour = 60 * minute, day = 24 * hour;  // seconds

std::string without_end_zeros(std::string text) {
  if (text.find('.') == std::string::npos) return text;
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

// Four figures; "64" rather than "64.00" where that is all there is to say.
std::string in_unit(double value) {
  const std::string text = format_significant(value, unit_figures);
  const std::string brief = without_end_zeros(text);
  double back = 0;
  std::from_chars(brief.data(), brief.data() + brief.size(), back);
  constexpr double rounding_of_a_double = 1e-12;
  return std::abs(back - value) <= rounding_of_a_double * std::abs(value) ? brief : text;
}

// The value in the largest unit in which it is at least 1, taking care that 999.96 becomes 1 of the next.
std::string scaled(double value, double step, const char* const* units, std::size_t count) {
  std::size_t i = 0;
  for (; i + 1 < count && std::abs(value) >= step; ++i) value /= step;
  std::string text = in_unit(value);
  double shown = 0;
  std::from_chars(text.data(), text.data() + text.size(), shown);
  if (i + 1 < count && std::abs(shown) >= step) text = in_unit(value / step), ++i;
  return text + " " + units[i];
}

template <std::size_t n>
std::string scaled(double value, double step, const char* const (&units)[n]) {
  return scaled(value, step, units, n);
}

std::string chars(double value, std::chars_format format, int precision) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  constexpr int most = 40;  // digits after the point anybody asks for
  char buffer[400];         // the largest double has 309 digits before the point
  precision = std::clamp(precision, 0, most);
  const auto [end, problem] = std::to_chars(buffer, buffer + sizeof buffer, value, format, precision);
  return problem == std::errc() ? std::string(buffer, end) : std::string("?");
}

}  // namespace

std::string format_fixed(double value, int digits) {
  const std::string text = chars(value, std::chars_format::fixed, digits);
  // "-0.00" says nothing that "0.00" does not.
  return text.find_first_not_of("-0.") == std::string::npos && text.front() == '-' ? text.substr(1) : text;
}

std::string format_significant(double value, int figures) {
  if (value == 0 || !std::isfinite(value)) return format_fixed(value, 0);
  // The magnitude after rounding to that many figures, so that 9.996 gives 10.0 and not 10.00.
  const std::string rounded = chars(value, std::chars_format::scientific, figures - 1);
  int magnitude = 0;
  const std::size_t e = rounded.find('e') + (rounded[rounded.find('e') + 1] == '+' ? 2 : 1);
  std::from_chars(rounded.data() + e, rounded.data() + rounded.size(), magnitude);
  return format_fixed(value, std::max(0, figures - 1 - magnitude));
}

std::string format_scientific(double value, int figures) {
  std::string text = chars(value, std::chars_format::scientific, figures - 1);
  const std::size_t e = text.find('e');
  if (e == std::string::npos) return text;
  // "e+09" is a machine's way to write e9.
  if (text[e + 1] == '+') text.erase(e + 1, 1);
  const std::size_t digits = text[e + 1] == '-' ? e + 2 : e + 1;
  while (text.size() > digits + 1 && text[digits] == '0') text.erase(digits, 1);
  return text;
}

std::string format_count(Int128 value) {
  std::string text = to_string(value);
  const std::size_t first = text.front() == '-' ? 1 : 0;
  for (std::size_t at = text.size(); at > first + 3;) text.insert(at -= 3, ",");
  return text;
}

std::string format_short_count(Int128 value) {
  constexpr Int128 exact_below = 10'000;
  if (value < exact_below && value > -exact_below) return to_string(value);
  static constexpr const char* units[] = {"", "K", "M", "B", "T"};
  std::string text = scaled(static_cast<double>(value), kilo, units);
  text.erase(text.find(' '), 1);
  return text;
}

std::string format_gib(Bytes bytes) {
  static constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  return scaled(bytes.as_double(), kibi, units);
}

std::string format_gb(Bytes bytes) {
  static constexpr const char* units[] = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
  return scaled(bytes.as_double(), kilo, units);
}

std::string format_both(Bytes bytes) {
  if (bytes < Bytes(static_cast<Count>(kilo))) return format_gib(bytes);
  return format_gib(bytes) + " (" + format_gb(bytes) + ")";
}

std::string format_flops(Flops flops) {
  static constexpr const char* units[] = {"FLOP",  "kFLOP", "MFLOP", "GFLOP", "TFLOP",
                                          "PFLOP", "EFLOP", "ZFLOP", "YFLOP"};
  return scaled(flops.as_double(), kilo, units);
}

std::string format_rate(FlopsPerSecond rate) {
  static constexpr const char* units[] = {"FLOP/s", "kFLOP/s", "MFLOP/s", "GFLOP/s", "TFLOP/s", "PFLOP/s", "EFLOP/s"};
  return scaled(rate.value(), kilo, units);
}

std::string format_rate(BytesPerSecond rate) {
  static constexpr const char* units[] = {"B/s", "kB/s", "MB/s", "GB/s", "TB/s", "PB/s"};
  return scaled(rate.value(), kilo, units);
}

std::string format_intensity(FlopsPerByte intensity) { return in_unit(intensity.value()) + " FLOP/B"; }

std::string format_time(Seconds time) {
  const double s = time.value();
  if (std::abs(s) < minute) {
    static constexpr const char* units[] = {"ns", "us", "ms", "s"};
    constexpr double nano = 1e9;
    return scaled(s * nano, kilo, units);
  }
  if (std::abs(s) < hour) return in_unit(s / minute) + " min";
  if (std::abs(s) < day) return in_unit(s / hour) + " h";
  return in_unit(s / day) + " days";
}

std::string format_percent(double fraction) { return format_fixed(fraction * 100, 1) + " %"; }

std::string format_dollars(double dollars) {
  constexpr double cents_below = 1000, countable_below = 1e18;
  if (!(std::abs(dollars) < countable_below)) return "$" + format_scientific(dollars, unit_figures);
  constexpr double half_a_cent = 0.005;
  if (dollars > 0 && dollars < half_a_cent) return "under $0.01";
  if (std::abs(dollars) < cents_below) return "$" + format_fixed(dollars, 2);
  return "$" + format_count(static_cast<Int128>(std::llround(dollars)));
}

std::string format_power(Watts power) {
  static constexpr const char* units[] = {"W", "kW", "MW", "GW"};
  return scaled(power.value(), kilo, units);
}

std::string format_frequency(Hertz clock) {
  static constexpr const char* units[] = {"Hz", "kHz", "MHz", "GHz"};
  return scaled(clock.value(), kilo, units);
}

}  // namespace llmcalc
