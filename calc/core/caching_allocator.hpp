// PyTorch's caching allocator (c10/cuda/CUDACachingAllocator.cpp) without memory: what it would ask of the driver.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "core/units.hpp"

namespace llmcalc {

struct AllocatorSettings {
  bool expandable_segments = false;  // PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True
};

// One stream, no limit: nothing is ever given back to the driver, as until the device is full.
class CachingAllocator {
 public:
  explicit CachingAllocator(AllocatorSettings settings = {}) : settings_(settings) {}

  // `block` is the caller's name for it, counted from 0; a negative one is never freed. Nothing for 0 bytes.
  void allocate(std::int32_t block, Bytes bytes);
  void free(std::int32_t block);

  Bytes allocated() const { return Bytes(allocated_); }  // rounded to 512 B
  Bytes reserved() const { return Bytes(reserved_); }    // of segments

 private:
  struct Piece {
    Count size;
    bool used;
    bool small;
    Count segment_end;  // where its segment ends: pieces merge up to there
    Count segment_begin;
  };
  using Free = std::set<std::pair<Count, Count>>;  // (size, address)

  Count take(Count size, bool small);
  Count new_segment(Count size, bool small);
  Count grow(Count size, bool small);
  void split(Count address, Count size);

  AllocatorSettings settings_;
  std::map<Count, Piece> pieces_;  // by address
  Free free_[2];                   // of the large and of the small pool
  std::vector<Count> where_;       // address by block; -1: none
  Count next_address_ = 0, allocated_ = 0, reserved_ = 0;
  Count expandable_begin_[2] = {-1, -1}, expandable_end_[2] = {-1, -1};
};

}  // namespace llmcalc
