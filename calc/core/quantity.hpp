// Numbers with units as people write them ("80 GiB", "3.35 TB/s", "15T", "40%"), and the other way round.
//
// Prefixes: k M G T P E are powers of 1000, Ki Mi Gi Ti Pi Ei powers of 1024 (bytes only).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/units.hpp"

namespace llmcalc {

// A value, or what is wrong with the text (message names the text; hint, if any, says what to write).
template <class T>
struct Parsed {
  std::optional<T> value;
  std::string message, hint;

  explicit operator bool() const { return value.has_value(); }
  const T& operator*() const { return *value; }
};

// Sizes come out exact to the byte; a fraction of a byte is rounded. All are finite and >= 0, rates > 0 is not asked.
Parsed<Bytes> parse_bytes(std::string_view text);               // 80 GiB, 141 GB, 896MiB, 512 B
Parsed<BytesPerSecond> parse_byte_rate(std::string_view text);  // 3.35 TB/s
Parsed<FlopsPerSecond> parse_flop_rate(std::string_view text);  // 989.4 TFLOP/s, 989.4 TFLOPS, 1979 TOP/s
Parsed<Watts> parse_power(std::string_view text);               // 700 W, 1.2 kW
Parsed<Hertz> parse_frequency(std::string_view text);           // 1830 MHz
Parsed<Seconds> parse_duration(std::string_view text);          // 1.5 ms, 12 s, 3 min, 2 h, 17 days
Parsed<FlopsPerByte> parse_intensity(std::string_view text);    // 20, 20 FLOP/B

// Bare numbers.
Parsed<Count> parse_count(std::string_view text);                // 4096, 1B, 15T, 1e9, 10e9, 1_000; whole, >= 0
Parsed<Int128> parse_large_count(std::string_view text);         // the same, for FLOPs
Parsed<double> parse_number(std::string_view text);              // 3.99, 1e-5; may be negative
Parsed<double> parse_fraction(std::string_view text);            // 0.4, 40%; any finite value >= 0
Parsed<std::vector<Count>> parse_counts(std::string_view text);  // 512,256,256

// Formatting. Values with a unit get four figures; zeros at the end stand only where the value was rounded to them.
std::string format_fixed(double value, int digits);         // `digits` after the point, never an exponent
std::string format_significant(double value, int figures);  // 3 figures: 0.0123, 1.23, 12.3, 123, 12345
std::string format_scientific(double value, int figures);   // 3 figures: 6.00e19
std::string format_count(Int128 value);                     // 8,030,261,248
std::string format_short_count(Int128 value);               // 8.03B, 124.4M, 15T; exact below 10,000
std::string format_gib(Bytes bytes);                        // powers of 1024: 512 B, 4 KiB, 14.96 GiB
std::string format_gb(Bytes bytes);                         // powers of 1000: 512 B, 4.096 kB, 16.06 GB
std::string format_both(Bytes bytes);                       // 14.96 GiB (16.06 GB)
std::string format_flops(Flops flops);                      // 60 EFLOP, up to YFLOP
std::string format_rate(FlopsPerSecond rate);               // 989.4 TFLOP/s
std::string format_rate(BytesPerSecond rate);               // 3.35 TB/s
std::string format_intensity(FlopsPerByte intensity);       // 295.3 FLOP/B
std::string format_time(Seconds time);                      // 12.3 us, 4.56 ms, 7.89 s, 12.3 min, 5.67 h, 17.36 days
std::string format_percent(double fraction);                // 40.0 %
std::string format_dollars(double dollars);                 // $3.99, $1,234,567
std::string format_power(Watts power);                      // 700 W
std::string format_frequency(Hertz clock);                  // 1.83 GHz

}  // namespace llmcalc
