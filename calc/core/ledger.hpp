// Who holds how many bytes, now and at the peak of each phase.
#pragma once

#include <array>
#include <string_view>

#include "core/units.hpp"

namespace llmcalc {

// What a storage is for. The parts of a peak are sums over these.
enum class Part : unsigned char {
  parameters,
  master_weights,
  optimizer_states,
  buffers,
  inputs,
  gradients,
  kv_cache,
  sequence_states,  // of layers that mix tokens by a recurrence
  autocast_copies,  // low-precision copies of parameters
  saved,            // kept by a node for the backward pass
  temporaries,      // everything else that is alive: activations on their way, gradients of activations, workspaces
};
constexpr std::size_t part_count = 11;

enum class Phase : unsigned char { forward, loss, backward, optimizer };
constexpr std::size_t phase_count = 4;

std::string_view name_of(Part part);
std::string_view name_of(Phase phase);

struct Peak {
  Bytes total;
  std::array<Bytes, part_count> parts;
};

class AllocationLog;

// One account of live bytes. Every storage reports its birth and death here.
class Ledger {
 public:
  void allocate(Part part, Bytes bytes);
  void release(Part part, Bytes bytes);
  void move(Part from, Part to, Bytes bytes);

  Bytes live() const { return live_; }
  const std::array<Bytes, part_count>& parts() const { return parts_; }
  // The parts now, to call repeat_since with later.
  std::array<Bytes, part_count> snapshot();

  void enter(Phase phase);  // what is alive on entering counts for the phase
  Phase phase() const { return phase_; }
  const Peak& peak(Phase phase) const { return peaks_[static_cast<std::size_t>(phase)]; }

  // Adds `times` x (now - then) to every part: layers alike that are not traced one by one.
  void repeat_since(const std::array<Bytes, part_count>& then, Count times);

 private:
  void note_peak();

 public:
  AllocationLog* log = nullptr;  // told of every storage's birth and death (allocation_log.hpp)

 private:
  Bytes live_;
  std::array<Bytes, part_count> parts_{};
  Phase phase_ = Phase::forward;
  std::array<Peak, phase_count> peaks_{};
};

}  // namespace llmcalc
