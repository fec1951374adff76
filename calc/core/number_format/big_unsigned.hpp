// Whole numbers of any size, with the few operations that exact rounding needs.
#pragma once

#include <cstdint>
#include <vector>

namespace llmcalc {

class BigUnsigned {
 public:
  BigUnsigned() = default;
  explicit BigUnsigned(std::uint64_t value);

  bool is_zero() const { return words_.empty(); }
  int bit_length() const;  // 0 for 0

  BigUnsigned& multiply(std::uint32_t factor);
  BigUnsigned& add(std::uint32_t amount);
  BigUnsigned& shift_left(int bits);                  // bits >= 0
  BigUnsigned& subtract(const BigUnsigned& smaller);  // smaller <= *this

  friend BigUnsigned operator*(const BigUnsigned& a, const BigUnsigned& b);
  friend int compare(const BigUnsigned& a, const BigUnsigned& b);  // < 0, 0, > 0

 private:
  void trim();
  std::vector<std::uint32_t> words_;  // lowest first, no zeros at the top
};

}  // namespace llmcalc
