#include "core/caching_allocator.hpp"

#include <algorithm>

namespace llmcalc {
namespace {

constexpr Count mebibyte = Count{1} << 20;
// The allocator's own constants, under its own names.
constexpr Count min_block_size = 512;             // every size is rounded up to it
constexpr Count small_size = mebibyte;            // up to this a block is of the small pool
constexpr Count small_buffer = 2 * mebibyte;      // whose segments have this size
constexpr Count large_buffer = 20 * mebibyte;     // segments for blocks from 1 to 10 MiB
constexpr Count min_large_alloc = 10 * mebibyte;  // from here on a block gets a segment of its own,
constexpr Count round_large = 2 * mebibyte;       // rounded up to this
// Expandable segments have room for 9/8 of any device; how much does not matter as long as they never meet.
constexpr Count expandable_room = Count{1} << 46;

Count rounded(Count size, Count to) { return ceil_div(size, to) * to; }

Count segment_size(Count size, bool small) {
  if (small) return small_buffer;
  return size < min_large_alloc ? large_buffer : rounded(size, round_large);
}

// Whether what is left of a piece stays a piece of its own.
bool splits(Count left, bool small, bool expandable) {
  return small || expandable ? left >= min_block_size : left > small_size;
}

}  // namespace

void CachingAllocator::allocate(std::int32_t block, Bytes bytes) {
  if (bytes <= Bytes(0)) return;
  const Count size = rounded(bytes.value(), min_block_size);
  const bool small = size <= small_size;
  const Count address = take(size, small);
  if (block < 0) return;
  const auto index = static_cast<std::size_t>(block);
  if (where_.size() <= index) where_.resize(std::max(2 * where_.size(), index + 1), -1);
  where_[index] = address;
}

Count CachingAllocator::take(Count size, bool small) {
  Free& pool = free_[small];
  const auto best = pool.lower_bound({size, -1});
  Count address = 0;
  if (best != pool.end()) {
    address = best->second;
    pool.erase(best);
  } else {
    address = settings_.expandable_segments ? grow(size, small) : new_segment(size, small);
  }
  Piece& piece = pieces_[address];
  piece.used = true;
  if (splits(piece.size - size, small, settings_.expandable_segments)) split(address, size);
  allocated_ += piece.size;
  return address;
}

Count CachingAllocator::new_segment(Count size, bool small) {
  const Count whole = segment_size(size, small), address = next_address_;
  next_address_ += whole;
  reserved_ += whole;
  pieces_[address] = {whole, false, small, address + whole, address};
  return address;
}

// More pages at the end of the pool's one segment; a free piece there is used too.
Count CachingAllocator::grow(Count size, bool small) {
  if (expandable_begin_[small] < 0) expandable_begin_[small] = expandable_end_[small] = small ? 0 : expandable_room;
  Count address = expandable_end_[small];
  Count there = 0;
  if (!pieces_.empty()) {
    auto last = pieces_.lower_bound(address);
    if (last != pieces_.begin()) {
      --last;
      if (!last->second.used && last->second.small == small && last->first + last->second.size == address) {
        there = last->second.size;
        address = last->first;
        free_[small].erase({there, address});
      }
    }
  }
  const Count more = rounded(size - there, small ? small_buffer : large_buffer);
  expandable_end_[small] += more;
  reserved_ += more;
  const Count begin = expandable_begin_[small];
  pieces_[address] = {there + more, false, small, begin + expandable_room, begin};
  return address;
}

void CachingAllocator::split(Count address, Count size) {
  Piece& piece = pieces_[address];
  const Count left = piece.size - size;
  if (left == 0) return;
  piece.size = size;
  pieces_[address + size] = {left, false, piece.small, piece.segment_end, piece.segment_begin};
  free_[piece.small].insert({left, address + size});
}

void CachingAllocator::free(std::int32_t block) {
  const auto index = static_cast<std::size_t>(block);
  if (index >= where_.size() || where_[index] < 0) return;
  auto here = pieces_.find(where_[index]);
  where_[index] = -1;
  here->second.used = false;
  allocated_ -= here->second.size;
  Free& pool = free_[here->second.small];
  const Count begin = here->second.segment_begin;
  const auto next = std::next(here);
  if (next != pieces_.end() && !next->second.used && next->second.segment_begin == begin) {
    pool.erase({next->second.size, next->first});
    here->second.size += next->second.size;
    pieces_.erase(next);
  }
  if (here != pieces_.begin()) {
    const auto before = std::prev(here);
    if (!before->second.used && before->second.segment_begin == begin) {
      pool.erase({before->second.size, before->first});
      before->second.size += here->second.size;
      pieces_.erase(here);
      here = before;
    }
  }
  pool.insert({here->second.size, here->first});
}

}  // namespace llmcalc
