#include "kernels/cpu/arena.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "core/diagnostics.hpp"
#include "core/quantity.hpp"
#include "kernels/data.hpp"

namespace llmcalc::cpu {
namespace {

// Random values repeat after so many elements: a prime, so that no array meets itself again, of about 4 MiB.
constexpr Count period = 1048573;
constexpr Count page_floats = 4096 / static_cast<Count>(sizeof(float));

}  // namespace

void Arena::release() {
  if (data_ != nullptr) munmap(data_, static_cast<std::size_t>(bytes().value()));
  data_ = nullptr;
  slice_ = 0;
}

void Arena::reserve(Pool& pool, Count bytes) {
  if (bytes <= this->bytes().value()) return;
  release();
  if (pattern_.empty()) {
    for (Count i = 0; i < period; ++i) pattern_.push_back(random_value(static_cast<std::uint64_t>(i)));
  }
  slices_ = pool.size();
  const Count threads = static_cast<Count>(slices_);
  const Count slice = ceil_div(ceil_div(bytes, static_cast<Count>(sizeof(float))), threads);
  const Count rounded = ceil_div(std::max<Count>(slice, 1), page_floats) * page_floats;
  const std::size_t size = static_cast<std::size_t>(rounded * threads) * sizeof(float);
  void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    throw Error(Exit::not_available, "not enough memory for arrays of " + format_gib(Bytes(static_cast<Count>(size))));
  data_ = static_cast<float*>(memory);
  slice_ = rounded;
  pool.run([&](std::size_t thread) { fill(static_cast<Count>(thread) * slice_, slice_); });
}

void Arena::fill(Count first, Count elements) {
  for (Count i = first; i < first + elements;) {
    const Count at = i % period, now = std::min(period - at, first + elements - i);
    std::memcpy(data_ + i, pattern_.data() + at, static_cast<std::size_t>(now) * sizeof(float));
    i += now;
  }
}

}  // namespace llmcalc::cpu
