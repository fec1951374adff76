#include "core/caching_allocator.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace llmcalc {
namespace {

constexpr Count mebibyte = Count{1} << 20;
// The allocator's own constants, under its own names.
constexpr Count min_block_size = 512;          // every size is rounded up to it
constexpr Count small_size = mebibyte;         // up to this a block is of the small pool
constexpr Count small_buffer = 2 * mebibyte;   // whose segments have this size
constexpr Count large_buffer = 20 * mebibyte;  // segments for blocks from 1 MiB to min_large_alloc
constexpr Count round_large = 2 * mebibyte;    // what those of larger blocks are rounded up to
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

Bytes segment_for(Bytes block) { return Bytes(segment_size(block.value(), block.value() <= small_size)); }

void CachingAllocator::allocate(std::int32_t block, Bytes bytes) {
  if (bytes <= Bytes(0)) return;
  const Count size = rounded(bytes.value(), min_block_size);
  const Index piece = take(size, size <= small_size);
  if (block < 0) return;
  const auto index = static_cast<std::size_t>(block);
  if (where_.size() <= index) where_.resize(std::max(2 * where_.size(), index + 1), -1);
  where_[index] = piece;
}

CachingAllocator::Piece& CachingAllocator::at(Index piece) { return pieces_[static_cast<std::size_t>(piece)]; }

CachingAllocator::Index CachingAllocator::add_piece(const Piece& piece) {
  if (recycled_.empty()) {
    pieces_.push_back(piece);
    return static_cast<Index>(pieces_.size() - 1);
  }
  const Index index = recycled_.back();
  recycled_.pop_back();
  at(index) = piece;
  return index;
}

void CachingAllocator::set_free(Index piece) {
  at(piece).used = false;
  free_[at(piece).small].insert({at(piece).size, at(piece).address, piece});
}

void CachingAllocator::set_used(Index piece) {
  at(piece).used = true;
  free_[at(piece).small].erase({at(piece).size, at(piece).address, piece});
}

CachingAllocator::Index CachingAllocator::take(Count size, bool small) {
  auto best = free_[small].lower_bound({size, -1, -1});
  // The last piece of an expandable segment counts as large as it can grow: any other that is large enough is better.
  const bool last = best != free_[small].end() && best->piece == expandable_last_[small];
  if (last && std::next(best) != free_[small].end()) ++best;
  Index piece = -1;
  if (best != free_[small].end()) {
    piece = best->piece;
    set_used(piece);
  } else {
    piece = settings_.expandable_segments ? grow(size, small) : new_segment(size, small);
  }
  if (splits(at(piece).size - size, small, settings_.expandable_segments)) split(piece, size);
  allocated_ += at(piece).size;
  return piece;
}

CachingAllocator::Index CachingAllocator::new_segment(Count size, bool small) {
  const Count whole = segment_size(size, small), address = next_address_;
  next_address_ += whole;
  reserved_ += whole;
  return add_piece({address, whole, -1, -1, true, small});
}

// More pages at the end of the pool's one segment; a free piece there is used too.
CachingAllocator::Index CachingAllocator::grow(Count size, bool small) {
  Index& last = expandable_last_[small];
  const bool joins = last >= 0 && !at(last).used;
  if (joins) {
    set_used(last);
  } else {
    const Index before = last;
    const Count address = before < 0 ? (small ? 0 : expandable_room) : at(before).address + at(before).size;
    last = add_piece({address, 0, before, -1, true, small});
    if (before >= 0) at(before).next = last;
  }
  const Count more = rounded(size - at(last).size, small ? small_buffer : large_buffer);
  at(last).size += more;
  reserved_ += more;
  return last;
}

void CachingAllocator::split(Index piece, Count size) {
  const Piece whole = at(piece);
  if (whole.size == size) return;
  const Index rest = add_piece({whole.address + size, whole.size - size, piece, whole.next, false, whole.small});
  if (whole.next >= 0) at(whole.next).before = rest;
  at(piece).next = rest;
  at(piece).size = size;
  if (expandable_last_[whole.small] == piece) expandable_last_[whole.small] = rest;
  set_free(rest);
}

void CachingAllocator::absorb_next(Index piece) {
  const Index gone = at(piece).next;
  at(piece).size += at(gone).size;
  at(piece).next = at(gone).next;
  if (at(gone).next >= 0) at(at(gone).next).before = piece;
  Index& last = expandable_last_[at(piece).small];
  if (last == gone) last = piece;
  recycled_.push_back(gone);
}

void CachingAllocator::free(std::int32_t block) {
  const auto index = static_cast<std::size_t>(block);
  if (index >= where_.size() || where_[index] < 0) return;
  Index piece = std::exchange(where_[index], -1);
  allocated_ -= at(piece).size;
  const Index next = at(piece).next, before = at(piece).before;
  if (next >= 0 && !at(next).used) {
    set_used(next);
    absorb_next(piece);
  }
  if (before >= 0 && !at(before).used) {
    set_used(before);
    absorb_next(before);
    piece = before;
  }
  set_free(piece);
}

}  // namespace llmcalc
