// The backward pass: PyTorch's engine, on one thread. The youngest ready node runs first; gradients that meet are
// summed, in place where nobody else holds the first; a node's kept tensors are freed once it ran.
#include <algorithm>

#include "core/ops/cast.hpp"
#include "core/ops/elementwise.hpp"
#include "core/trace.hpp"

namespace llmcalc {
namespace {

bool runs_later(const Node* a, const Node* b) { return a->sequence < b->sequence; }

}  // namespace

Tensor Trace::checkpoint(const Tensors& inputs, const std::function<Tensor(Trace&, const Tensors&)>& region) {
  if (!grad_enabled_) return region(*this, inputs);
  Ref<CheckpointFrame> frame(new CheckpointFrame);
  frame->module = module_;
  frame->block = block_;
  Tensors detached;
  for (const Tensor& input : inputs) {
    Tensor x = input;
    x.grad_fn = {};
    detached.push_back(x);
    Storage& storage = *x.storage;
    if (storage.part == Part::temporaries || storage.part == Part::saved)
      kept_.push_back({module_, Op::checkpoint, x.dtype, x.layout.shape, storage.bytes, Part::saved,
                       !storage.kept_before, repeat_});
    storage.kept_before = true;
    frame->inputs.emplace_back(x);
  }
  const int instance = layer_instance;
  CheckpointFrame* const owner = frame.get();
  frame->run = [owner, region, instance](Trace& trace) {
    trace.layer_instance = instance;
    Tensors again;
    for (const Kept& kept : owner->inputs) again.push_back(kept.unpack(trace));
    region(trace, again);
  };
  detached.clear();
  packing_ = frame;
  Tensor out = region(*this, inputs);
  packing_ = {};
  return out;
}

Tensor Trace::recomputed(CheckpointFrame& frame, int slot) {
  if (!frame.has_run) {
    frame.has_run = true;
    const auto module_before = module_;
    const auto pass_before = pass_;
    const bool grad_before = grad_enabled_, autocast_before = autocast_on_;
    const int instance_before = layer_instance;
    module_ = frame.module;
    pass_ = Pass::recompute;
    grad_enabled_ = true;
    enter_autocast();
    recomputing_ = Ref<CheckpointFrame>(&frame);
    try {
      frame.run(*this);
    } catch (const StopRecomputing&) {  // NOLINT(bugprone-empty-catch)
      // All that the region's nodes keep is there; the rest of the region need not run.
    }
    recomputing_ = {};
    autocast_cache_.clear();
    autocast_on_ = autocast_before;
    grad_enabled_ = grad_before;
    layer_instance = instance_before;
    pass_ = pass_before;
    module_ = module_before;
  }
  Tensor& there = frame.recomputed[static_cast<std::size_t>(slot)];
  there.storage->let_go();
  return std::move(there);
}

void Trace::accumulate(Tensor& into, Tensor gradient) {
  if (!into.defined()) {
    into = std::move(gradient);
    return;
  }
  const bool in_place = !into.is_view && into.storage->references == 1 && into.layout.is_dense();
  if (in_place) {
    launch(Op::add, into.dtype, {&into, &gradient}, {&into}).elementwise = into.elements();
  } else {
    into = add(*this, into, gradient);
  }
}

void Trace::finish_leaf(Node& node, Tensor gradient) {
  if (settings.gradients_exist || node.gradient.defined()) {
    launch(Op::add, gradient.dtype, {&gradient, &gradient}, {&gradient}).elementwise = gradient.elements();
    return;
  }
  const bool stolen = gradient.storage->references == 1 && gradient.layout.is_contiguous();
  Tensor own = stolen ? std::move(gradient) : copy(*this, gradient);
  own.storage->become(Part::gradients);
  if (settings.steps_in_backward) {
    const Bytes needs = (*settings.steps_in_backward)[static_cast<std::size_t>(node.parameter)];
    if (needs > Bytes(0)) const Storage alive(&ledger, Part::temporaries, needs);
    return;
  }
  node.gradient = std::move(own);
}

// Gradients in the shape and dtype of what they are the gradients of.
Tensors Trace::validated(const Node& node, Tensors gradients) {
  for (std::size_t i = 0; i < node.inputs.size() && i < gradients.size(); ++i) {
    const Edge& edge = node.inputs[i];
    if (!edge.node || !gradients[i].defined()) continue;
    const OutputMeta& meta = edge.node->outputs[edge.output];
    if (gradients[i].shape() != meta.shape) gradients[i] = sum_to(*this, gradients[i], meta.shape);
    if (gradients[i].dtype != meta.dtype) gradients[i] = cast(*this, gradients[i], meta.dtype);
  }
  return gradients;
}

void Trace::count_waiting(Node* root) {
  std::vector<Node*> found{root};
  root->counted = true;
  while (!found.empty()) {
    Node* const node = found.back();
    found.pop_back();
    for (const Edge& edge : node->inputs) {
      if (!edge.node) continue;
      ++edge.node->waiting;
      if (!edge.node->counted) {
        edge.node->counted = true;
        found.push_back(edge.node.get());
      }
    }
  }
}

void Trace::backward(Tensor loss, std::uint64_t loss_begins) {
  const Ref<Node> root = loss.grad_fn;
  if (!root) return;
  NoGrad no_grad(*this);
  pass_ = Pass::backward;
  count_waiting(root.get());
  root->arrived.resize(root->outputs.size());
  root->arrived[loss.output] = allocate(loss.dtype, loss.layout);
  loss = {};
  ready_ = {root.get()};
  run_ready(loss_begins);
  pass_ = Pass::forward;
}

void Trace::run_ready(std::uint64_t loss_begins) {
  int block = -1;
  auto at_block_start = ledger.snapshot();
  const auto move_to_block = [&](int next) {
    if (next == block) return;
    // Leaving a block downwards: the untraced ones before it behave alike.
    if (block > 0) ledger.repeat_since(at_block_start, skipped_after_[static_cast<std::size_t>(block - 1)]);
    block = next;
    repeat_ = block > 0 ? 1 + skipped_after_[static_cast<std::size_t>(block - 1)] : 1;
    at_block_start = ledger.snapshot();
  };
  while (!ready_.empty()) {
    std::pop_heap(ready_.begin(), ready_.end(), runs_later);
    const Ref<Node> node(ready_.back());
    ready_.pop_back();
    if (node->parameter >= 0) {
      finish_leaf(*node, std::move(node->arrived.front()));
      node->arrived.clear();
      continue;
    }
    if (node->sequence < loss_begins && ledger.phase() == Phase::loss) ledger.enter(Phase::backward);
    move_to_block(node->block);
    module_ = node->module;
    Tensors outgoing;
    {
      Tensors incoming;
      for (Tensor& gradient : node->arrived) incoming.push_back(std::move(gradient));
      node->arrived.clear();
      {
        Tensors kept;
        for (const Kept& slot : node->kept) kept.push_back(slot.unpack(*this));
        outgoing = node->backward(*this, *node, kept, incoming);
      }
      outgoing = validated(*node, std::move(outgoing));
    }
    node->kept.clear();
    for (std::size_t i = 0; i < node->inputs.size(); ++i) {
      Node* const next = node->inputs[i].node.get();
      if (!next) continue;
      if (next->arrived.empty()) next->arrived.resize(next->outputs.size());
      if (i < outgoing.size() && outgoing[i].defined())
        accumulate(next->arrived[node->inputs[i].output], std::move(outgoing[i]));
      if (--next->waiting == 0) {
        ready_.push_back(next);
        std::push_heap(ready_.begin(), ready_.end(), runs_later);
      }
    }
  }
  move_to_block(-1);
  module_ = 0;
}

}  // namespace llmcalc
