#include "core/allocation_log.hpp"

#include <algorithm>

namespace llmcalc {

bool AllocationLog::has_room(std::size_t more) {
  complete_ = complete_ && more <= most_events && events_.size() + more <= most_events;
  return complete_;
}

void AllocationLog::born(const void* storage, Bytes bytes) {
  if (bytes == Bytes(0) || !has_room(1)) return;
  alive_[storage] = next_;
  events_.push_back({next_++, bytes});
}

void AllocationLog::died(const void* storage) {
  const auto found = alive_.find(storage);
  if (found == alive_.end()) return;
  events_.push_back({found->second, Bytes(0)});
  if (first_copy_.count(found->second) != 0) freed_with_copies_.push_back(found->second);
  alive_.erase(found);
}

void AllocationLog::repeat(Count times) {
  if (times <= 0) return;
  const auto each = events_.size() - mark_ + freed_with_copies_.size();
  if (!has_room(each * static_cast<std::size_t>(std::min<Count>(times, most_events)))) return;
  // What was allocated since the mark and is still alive.
  std::vector<AllocationEvent> left;
  for (std::size_t i = mark_; i < events_.size(); ++i) {
    if (events_[i].bytes > Bytes(0)) left.push_back(events_[i]);
  }
  std::unordered_map<std::int32_t, bool> freed;
  for (std::size_t i = mark_; i < events_.size(); ++i)
    if (events_[i].bytes == Bytes(0)) freed[events_[i].block] = true;
  const auto copies = static_cast<std::int32_t>(times);
  for (const AllocationEvent& one : left) {
    if (freed.count(one.block) != 0) continue;
    first_copy_[one.block] = next_;
    next_ += copies;
  }
  for (std::int32_t copy = 0; copy < copies; ++copy) {
    for (const std::int32_t block : freed_with_copies_) events_.push_back({first_copy_[block] + copy, Bytes(0)});
    for (const AllocationEvent& one : left)
      if (freed.count(one.block) == 0) events_.push_back({first_copy_[one.block] + copy, one.bytes});
  }
  freed_with_copies_.clear();
}

}  // namespace llmcalc
