#include "core/number_format/big_unsigned.hpp"

#include <bit>

namespace llmcalc {
namespace {

constexpr int word_bits = 32;

std::uint32_t low(std::uint64_t value) { return static_cast<std::uint32_t>(value); }

}  // namespace

BigUnsigned::BigUnsigned(std::uint64_t value) {
  for (; value != 0; value >>= word_bits) words_.push_back(low(value));
}

void BigUnsigned::trim() {
  while (!words_.empty() && words_.back() == 0) words_.pop_back();
}

int BigUnsigned::bit_length() const {
  if (words_.empty()) return 0;
  return static_cast<int>(words_.size()) * word_bits - std::countl_zero(words_.back());
}

BigUnsigned& BigUnsigned::multiply(std::uint32_t factor) {
  std::uint64_t carry = 0;
  for (std::uint32_t& word : words_) {
    carry += static_cast<std::uint64_t>(word) * factor;
    word = low(carry);
    carry >>= word_bits;
  }
  if (carry != 0) words_.push_back(low(carry));
  trim();
  return *this;
}

BigUnsigned& BigUnsigned::add(std::uint32_t amount) {
  std::uint64_t carry = amount;
  for (std::uint32_t& word : words_) {
    carry += word;
    word = low(carry);
    carry >>= word_bits;
  }
  if (carry != 0) words_.push_back(low(carry));
  return *this;
}

BigUnsigned& BigUnsigned::shift_left(int bits) {
  if (words_.empty()) return *this;
  const int inside = bits % word_bits;
  std::uint64_t carry = 0;
  for (std::uint32_t& word : words_) {
    carry |= static_cast<std::uint64_t>(word) << inside;
    word = low(carry);
    carry >>= word_bits;
  }
  if (carry != 0) words_.push_back(low(carry));
  words_.insert(words_.begin(), static_cast<std::size_t>(bits / word_bits), 0);
  return *this;
}

BigUnsigned& BigUnsigned::subtract(const BigUnsigned& smaller) {
  std::int64_t borrow = 0;
  for (std::size_t i = 0; i < words_.size(); ++i) {
    std::int64_t difference = static_cast<std::int64_t>(words_[i]) - borrow;
    if (i < smaller.words_.size()) difference -= smaller.words_[i];
    borrow = difference < 0;
    words_[i] = low(static_cast<std::uint64_t>(difference));
  }
  trim();
  return *this;
}

BigUnsigned operator*(const BigUnsigned& a, const BigUnsigned& b) {
  BigUnsigned product;
  product.words_.assign(a.words_.size() + b.words_.size(), 0);
  for (std::size_t i = 0; i < a.words_.size(); ++i) {
    std::uint64_t carry = 0;
    for (std::size_t j = 0; j < b.words_.size(); ++j) {
      carry += static_cast<std::uint64_t>(a.words_[i]) * b.words_[j] + product.words_[i + j];
      product.words_[i + j] = low(carry);
      carry >>= word_bits;
    }
    product.words_[i + b.words_.size()] = low(carry);
  }
  product.trim();
  return product;
}

int compare(const BigUnsigned& a, const BigUnsigned& b) {
  if (a.words_.size() != b.words_.size()) return a.words_.size() < b.words_.size() ? -1 : 1;
  for (std::size_t i = a.words_.size(); i-- > 0;)
    if (a.words_[i] != b.words_[i]) return a.words_[i] < b.words_[i] ? -1 : 1;
  return 0;
}

}  // namespace llmcalc
