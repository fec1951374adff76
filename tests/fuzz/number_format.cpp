// Any text as a value that every number format stores.
#include "core/number_format/stored.hpp"

#include "tests/fuzz/target.hpp"

namespace {

void take(std::string_view input) {
  using namespace llmcalc::number_format;
  llmcalc::fuzz::require(format_named(input) == nullptr || !format_names().empty(), "names are looked up");
  const std::optional<ExactValue> value = parse_exact(input);
  if (!value) return;
  for (const Format& format : formats()) {
    const Stored s = store(format, *value);
    if (format.family == Family::block || !s.is_finite()) continue;
    const Stored again = store(format, exact(s.magnitude, s.negative));
    llmcalc::fuzz::require(again.outcome == Outcome::exact && again.pattern == s.pattern,
                           "what is stored is stored as itself");
  }
}

}  // namespace

LLMCALC_FUZZ_TARGET(take)
