// Memory that every workload takes its arrays from: one slice for each thread, touched first by that thread.
#pragma once

#include <cstddef>
#include <vector>

#include "core/units.hpp"
#include "kernels/cpu/pool.hpp"

namespace llmcalc::cpu {

class Arena {
 public:
  Arena() = default;
  ~Arena() { release(); }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // At least `bytes`, in slices of equal size, filled with random values in [-1, 1); what was there is lost. Throws
  // Error(not_available) when the system has no memory left; the arena is empty then.
  void reserve(Pool& pool, Count bytes);
  // Random values again, over results that lie there.
  void fill(Count first, Count elements);

  Count slice_elements() const { return slice_; }
  float* slice(std::size_t thread) const { return data_ + static_cast<Count>(thread) * slice_; }
  float* data() const { return data_; }  // all slices in a row
  Count elements() const { return slice_ * static_cast<Count>(slices_); }
  Bytes bytes() const { return Bytes(elements() * static_cast<Count>(sizeof(float))); }

 private:
  void release();

  std::vector<float> pattern_;
  float* data_ = nullptr;
  Count slice_ = 0;
  std::size_t slices_ = 0;
};

}  // namespace llmcalc::cpu
