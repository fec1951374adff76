// What an allocator sees of a trace: allocations and frees in order, layers that are not traced one by one included.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "core/units.hpp"

namespace llmcalc {

struct AllocationEvent {
  std::int32_t block;  // numbered from 0 as they are allocated
  Bytes bytes;         // 0: the block is freed
};

class AllocationLog {
 public:
  void born(const void* storage, Bytes bytes);
  void died(const void* storage);

  // From here to the next `repeat` one block of layers runs.
  void mark() { mark_ = events_.size(); }
  // `times` more blocks like it: what it left alive is allocated again for each, and what it freed of an earlier block
  // that had such copies is freed with them. What a block frees of its own needs no copy: the next finds it free.
  void repeat(Count times);

  // Whether every event is there. A log of more than `most_events` stops: models of a hundred layers have some 10^4.
  bool complete() const { return complete_; }
  static constexpr std::size_t most_events = 2'000'000;

  const std::vector<AllocationEvent>& events() const { return events_; }
  std::int32_t blocks() const { return next_; }

 private:
  bool has_room(std::size_t more);

  std::vector<AllocationEvent> events_;
  std::unordered_map<const void*, std::int32_t> alive_;
  std::unordered_map<std::int32_t, std::int32_t> first_copy_;  // copies of a block are numbered one after another
  std::vector<std::int32_t> freed_with_copies_;
  bool complete_ = true;
  std::size_t mark_ = 0;
  std::int32_t next_ = 0;
};

}  // namespace llmcalc
