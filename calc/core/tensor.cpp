#include "core/tensor.hpp"

#include "core/allocation_log.hpp"
#include "core/trace.hpp"

namespace llmcalc {

Storage::Storage(Ledger* account, Part what, Bytes size) : ledger(account), part(what), bytes(size) {
  if (!ledger) return;
  ledger->allocate(part, bytes);
  if (ledger->log) ledger->log->born(this, bytes);
}

Storage::~Storage() {
  if (!ledger) return;
  ledger->release(part, bytes);
  if (ledger->log) ledger->log->died(this);
}

void Storage::keep() {
  if (keepers++ == 0 && part == Part::temporaries) become(Part::saved);
}

void Storage::let_go() {
  if (--keepers == 0 && part == Part::saved) become(Part::temporaries);
}

void Storage::become(Part what) {
  if (ledger) ledger->move(part, what, bytes);
  part = what;
}

Kept::Kept(Tensor tensor) : tensor_(std::move(tensor)) { tensor_.storage->keep(); }
Kept::Kept(Ref<CheckpointFrame> frame, int slot) : frame_(std::move(frame)), slot_(slot) {}
Kept::~Kept() {
  if (tensor_.storage) tensor_.storage->let_go();
}

Tensor Kept::unpack(Trace& trace) const { return frame_ ? trace.recomputed(*frame_, slot_) : tensor_; }

namespace {

// Chains of nodes are as long as the model is deep; they are taken apart one by one, not recursively.
thread_local std::vector<Ref<Node>>* orphans = nullptr;

}  // namespace

Node::~Node() {
  if (orphans) {
    for (Edge& edge : inputs) orphans->push_back(std::move(edge.node));
    return;
  }
  std::vector<Ref<Node>> mine;
  orphans = &mine;
  for (Edge& edge : inputs) mine.push_back(std::move(edge.node));
  while (!mine.empty()) {
    const Ref<Node> next = std::move(mine.back());
    mine.pop_back();
  }
  orphans = nullptr;
}

}  // namespace llmcalc
