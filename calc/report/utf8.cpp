#include "report/utf8.hpp"

namespace llmcalc::report {

namespace {

constexpr unsigned kContinuationMask = 0xC0;
constexpr unsigned kContinuation = 0x80;
constexpr unsigned kPayload = 0x3F;
constexpr unsigned kBitsPerContinuation = 6;

// Lead bytes by the length of the sequence they begin (RFC 3629, section 3).
struct Lead {
  unsigned mask, pattern;
  std::size_t bytes;
  char32_t smallest;  // a smaller code in as many bytes would be an overlong form
};
constexpr Lead leads[] = {
    {0x80, 0x00, 1, 0x0}, {0xE0, 0xC0, 2, 0x80}, {0xF0, 0xE0, 3, 0x800}, {0xF8, 0xF0, 4, 0x10000}};
constexpr char32_t kFirstSurrogate = 0xD800, kLastSurrogate = 0xDFFF, kLargest = 0x10FFFF;

}  // namespace

Utf8Character first_character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned>(static_cast<unsigned char>(text[i])); };
  for (const Lead& lead : leads) {
    if ((byte(0) & lead.mask) != lead.pattern) continue;
    if (text.size() < lead.bytes) return {};
    char32_t code = byte(0) & ~lead.mask;
    for (std::size_t i = 1; i < lead.bytes; ++i) {
      if ((byte(i) & kContinuationMask) != kContinuation) return {};
      code = (code << kBitsPerContinuation) | (byte(i) & kPayload);
    }
    const bool surrogate = code >= kFirstSurrogate && code <= kLastSurrogate;
    if (code < lead.smallest || code > kLargest || surrogate) return {};
    return {code, lead.bytes, true};
  }
  return {};
}

}  // namespace llmcalc::report
