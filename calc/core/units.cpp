#include "core/units.hpp"

#include <algorithm>

namespace llmcalc {

std::string to_string(Int128 value) {
  if (value == 0) return "0";
  std::string digits;
  // The remainder keeps the sign of the value, so the most negative number needs no special case.
  for (Int128 rest = value; rest != 0; rest /= 10) {
    const int digit = static_cast<int>(rest % 10);
    digits += static_cast<char>('0' + (digit < 0 ? -digit : digit));
  }
  if (value < 0) digits += '-';
  std::reverse(digits.begin(), digits.end());
  return digits;
}

}  // namespace llmcalc
