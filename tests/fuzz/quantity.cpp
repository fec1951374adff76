// Any text as each kind of quantity: refused with a reason, or a sensible value that can be written and read again.
#include "core/quantity.hpp"

#include <cmath>

#include "core/suggest.hpp"
#include "tests/fuzz/target.hpp"

namespace {

using llmcalc::fuzz::require;

template <class T>
void explained(const llmcalc::Parsed<T>& parsed) {
  require(parsed.value.has_value() == parsed.message.empty(), "a value or a message, not both");
  require(parsed.message.size() < 4096, "a message is no copy of the input");
}

template <class T>
void magnitude(const llmcalc::Parsed<T>& parsed) {
  explained(parsed);
  if (parsed) require(std::isfinite((*parsed).value()) && (*parsed).value() >= 0, "finite and not negative");
}

void take(std::string_view input) {
  using namespace llmcalc;
  const Parsed<Bytes> bytes = parse_bytes(input);
  explained(bytes);
  if (bytes) {
    require((*bytes).value() >= 0, "no negative sizes");
    require(static_cast<bool>(parse_bytes(format_gib(*bytes))), "what is written can be read");
    require(!format_both(*bytes).empty(), "there is something to show");
  }
  magnitude(parse_byte_rate(input));
  magnitude(parse_flop_rate(input));
  magnitude(parse_power(input));
  magnitude(parse_frequency(input));
  magnitude(parse_duration(input));
  magnitude(parse_intensity(input));
  if (const Parsed<FlopsPerSecond> rate = parse_flop_rate(input)) {
    require(!format_rate(*rate).empty(), "there is something to show");
  }
  if (const Parsed<Seconds> time = parse_duration(input))
    require(!format_time(*time).empty(), "there is something to show");
  const Parsed<Count> count = parse_count(input);
  explained(count);
  if (count) {
    require(*count >= 0, "no negative counts");
    require(parse_count(std::to_string(*count)).value == count.value, "a count survives");
    require(*parse_large_count(input) == *count, "one reading for both sizes");
  }
  const Parsed<Int128> large = parse_large_count(input);
  explained(large);
  if (large) require(parse_large_count(to_string(*large)).value == large.value, "a large count survives");
  explained(parse_number(input));
  explained(parse_fraction(input));
  explained(parse_counts(input));
  in_quotes(input);
  did_you_mean(input, {"GiB", "h100-sxm", "hidden_size"});
}

}  // namespace

LLMCALC_FUZZ_TARGET(take)
