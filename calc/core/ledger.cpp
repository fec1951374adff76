#include "core/ledger.hpp"

#include "core/allocation_log.hpp"

namespace llmcalc {

std::string_view name_of(Part part) {
  static constexpr std::array<std::string_view, part_count> names{
      "parameters",      "master_weights", "optimizer_states",   "buffers",    "inputs", "gradients", "kv_cache",
      "sequence_states", "autocast_cache", "saved_for_backward", "temporaries"};
  return names[static_cast<std::size_t>(part)];
}

std::string_view name_of(Phase phase) {
  static constexpr std::array<std::string_view, phase_count> names{"forward", "loss", "backward", "optimizer"};
  return names[static_cast<std::size_t>(phase)];
}

void Ledger::allocate(Part part, Bytes bytes) {
  live_ += bytes;
  parts_[static_cast<std::size_t>(part)] += bytes;
  note_peak();
}

void Ledger::release(Part part, Bytes bytes) {
  live_ -= bytes;
  parts_[static_cast<std::size_t>(part)] -= bytes;
}

void Ledger::move(Part from, Part to, Bytes bytes) {
  parts_[static_cast<std::size_t>(from)] -= bytes;
  parts_[static_cast<std::size_t>(to)] += bytes;
}

std::array<Bytes, part_count> Ledger::snapshot() {
  if (log) log->mark();
  return parts_;
}

void Ledger::enter(Phase phase) {
  phase_ = phase;
  note_peak();
}

void Ledger::repeat_since(const std::array<Bytes, part_count>& then, Count times) {
  if (log) log->repeat(times);
  for (std::size_t i = 0; i < part_count; ++i) {
    const Bytes change = (parts_[i] - then[i]) * times;
    parts_[i] += change;
    live_ += change;
  }
  note_peak();
}

void Ledger::note_peak() {
  Peak& peak = peaks_[static_cast<std::size_t>(phase_)];
  if (live_ > peak.total) peak = {live_, parts_};
}

}  // namespace llmcalc
