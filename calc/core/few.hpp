// A vector for a handful of elements: up to N of them need no allocation. Traces make hundreds of thousands.
#pragma once

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace llmcalc {

template <class T, std::size_t N>
class Few {
 public:
  Few() = default;
  explicit Few(std::size_t count) { resize(count); }
  Few(std::initializer_list<T> values) {
    for (const T& value : values) push_back(value);
  }
  Few(const Few& other) {
    for (const T& value : other) push_back(value);
  }
  Few(Few&& other) noexcept { take(other); }
  Few& operator=(const Few& other) {
    if (this != &other) *this = Few(other);
    return *this;
  }
  Few& operator=(Few&& other) noexcept {
    if (this != &other) {
      release();
      take(other);
    }
    return *this;
  }
  ~Few() { release(); }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }
  T& front() { return data_[0]; }
  const T& front() const { return data_[0]; }
  T& back() { return data_[size_ - 1]; }
  const T& back() const { return data_[size_ - 1]; }

  template <class... Arguments>
  T& emplace_back(Arguments&&... arguments) {
    if (size_ == capacity_) grow(2 * capacity_);
    void* const place = static_cast<void*>(data_ + size_);
    T* made;
    if constexpr (std::is_constructible_v<T, Arguments...>)
      made = ::new (place) T(std::forward<Arguments>(arguments)...);
    else
      made = ::new (place) T{std::forward<Arguments>(arguments)...};
    ++size_;
    return *made;
  }
  void push_back(const T& value) { emplace_back(T(value)); }  // a copy first: `value` may be an element
  void push_back(T&& value) { emplace_back(std::move(value)); }
  void pop_back() { std::destroy_at(data_ + --size_); }
  void resize(std::size_t count) {
    if (count > capacity_) grow(count);
    while (size_ > count) pop_back();
    while (size_ < count) emplace_back();
  }
  void clear() {
    while (size_ > 0) pop_back();
  }

 private:
  T* inside() { return std::launder(reinterpret_cast<T*>(inside_)); }
  bool is_inside() const { return capacity_ == N; }

  void grow(std::size_t capacity) {
    T* const larger = std::allocator<T>().allocate(capacity);
    std::uninitialized_move(begin(), end(), larger);
    std::destroy(begin(), end());
    if (!is_inside()) std::allocator<T>().deallocate(data_, capacity_);
    data_ = larger;
    capacity_ = capacity;
  }
  void take(Few& other) noexcept {
    if (other.is_inside()) {
      std::uninitialized_move(other.begin(), other.end(), data_);
      size_ = other.size_;
      other.clear();
      return;
    }
    data_ = std::exchange(other.data_, other.inside());
    capacity_ = std::exchange(other.capacity_, N);
    size_ = std::exchange(other.size_, 0);
  }
  void release() noexcept {
    std::destroy(begin(), end());
    if (!is_inside()) std::allocator<T>().deallocate(data_, capacity_);
    data_ = inside();
    capacity_ = N;
    size_ = 0;
  }

  alignas(T) std::byte inside_[N * sizeof(T)];
  T* data_ = reinterpret_cast<T*>(inside_);
  std::size_t capacity_ = N;
  std::size_t size_ = 0;
};

}  // namespace llmcalc
