// PyTorch's caching allocator (c10/cuda/CUDACachingAllocator.cpp) without memory: what it would ask of the driver.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "core/units.hpp"

namespace llmcalc {

// From this size on a block gets a segment of its own (kMinLargeAlloc).
constexpr Count min_large_alloc = Count{10} << 20;

// What it asks of the driver for one block that nothing free can hold, and names in "tried to allocate": 2 MiB for up
// to 1 MiB, 20 MiB for less than 10 MiB, else the size rounded up to 2 MiB.
Bytes segment_for(Bytes block);

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
  using Index = std::int32_t;  // into pieces_; -1: none
  struct Piece {
    Count address, size;
    Index before, next;  // neighbours in the segment
    bool used, small;
  };
  struct Free {
    Count size, address;
    Index piece;
    friend bool operator<(const Free& a, const Free& b) {
      return a.size != b.size ? a.size < b.size : a.address < b.address;
    }
  };

  Piece& at(Index piece);
  Index take(Count size, bool small);
  Index new_segment(Count size, bool small);
  Index grow(Count size, bool small);
  void split(Index piece, Count size);
  void absorb_next(Index piece);
  Index add_piece(const Piece& piece);
  void set_free(Index piece);
  void set_used(Index piece);

  AllocatorSettings settings_;
  std::vector<Piece> pieces_;
  std::vector<Index> recycled_;
  std::set<Free> free_[2];    // of the large and of the small pool
  std::vector<Index> where_;  // piece by block
  Count next_address_ = 0, allocated_ = 0, reserved_ = 0;
  Index expandable_last_[2] = {-1, -1};  // the last piece of each pool's one segment
};

}  // namespace llmcalc
