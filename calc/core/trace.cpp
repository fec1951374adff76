#include "core/trace.hpp"

#include <algorithm>

#include "core/ops/cast.hpp"

namespace llmcalc {

Trace::Trace(TraceSettings wanted, std::vector<LeafSpec> leaves)
    : settings(wanted), leaf_specs_(std::move(leaves)), leaves_(leaf_specs_.size()), leaf_nodes_(leaf_specs_.size()) {
  constexpr std::size_t usual_launches = 1024, usual_kept = 512;
  tape_.reserve(usual_launches);
  kept_.reserve(usual_kept);
}

Tensor Trace::allocate(DType dtype, const Dims& shape, Part part) {
  return allocate(dtype, Layout::contiguous(shape), part);
}

Tensor Trace::allocate(DType dtype, const Layout& layout, Part part) {
  Tensor t;
  t.dtype = dtype;
  t.layout = layout;
  t.storage = Ref<Storage>(new Storage(&ledger, part, size_of(dtype) * layout.span()));
  if (made) made->push_back({module_, dtype, layout.shape, t.storage->bytes, repeat_});
  return t;
}

Tensor Trace::input_ids(Count batch, Count seq) {
  Tensor t;
  t.dtype = DType::int64;
  t.layout = Layout::contiguous({batch, seq});
  t.storage = Ref<Storage>(new Storage(nullptr, Part::inputs, t.bytes()));
  return t;
}

Tensor Trace::parameter(std::int32_t id) {
  std::vector<Tensor>& instances = leaves_[static_cast<std::size_t>(id)];
  // Few layers are traced, so theirs are numbered as they come.
  auto known = std::find(instance_numbers_.begin(), instance_numbers_.end(), layer_instance);
  if (known == instance_numbers_.end()) known = instance_numbers_.insert(known, layer_instance);
  const auto instance = static_cast<std::size_t>(known - instance_numbers_.begin());
  if (instances.size() <= instance) instances.resize(instance + 1);
  Tensor& leaf = instances[instance];
  if (!leaf.defined()) {
    const LeafSpec& spec = leaf_specs_[static_cast<std::size_t>(id)];
    leaf.dtype = spec.dtype;
    leaf.layout = Layout::contiguous(spec.shape);
    leaf.requires_grad = spec.trainable;
    leaf.parameter = id;
    // Parameters are on the books from the start, all layers of them.
    leaf.storage = Ref<Storage>(new Storage(nullptr, Part::parameters, size_of(spec.dtype) * leaf.elements()));
    if (spec.trainable) {
      Ref<Node> end(new Node);
      end->sequence = Node::runs_first;
      end->op = Op::accumulate;
      end->parameter = id;
      end->outputs.push_back({leaf.dtype, leaf.layout.shape});
      std::vector<Ref<Node>>& nodes = leaf_nodes_[static_cast<std::size_t>(id)];
      if (nodes.size() <= instance) nodes.resize(instance + 1);
      nodes[instance] = end;
      leaf.grad_fn = Ref<Node>();
    }
  }
  return leaf;
}

Ref<Node> Trace::node(Op op, BackwardFn function, const Few<const Tensor*, 4>& inputs) {
  if (!grad_enabled_ || std::none_of(inputs.begin(), inputs.end(), [](const Tensor* t) { return t->requires_grad; }))
    return {};
  Ref<Node> fresh(new Node);
  fresh->sequence = sequence_++;
  fresh->op = op;
  fresh->module = module_;
  fresh->block = block_;
  fresh->backward = function;
  fresh->inputs.resize(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Tensor& input = *inputs[i];
    if (!input.requires_grad) continue;
    if (input.grad_fn) {
      fresh->inputs[i] = {input.grad_fn, input.output};
    } else if (input.parameter >= 0) {
      // The leaf may be of another layer instance than the current one (a table shared by all): find it by storage.
      const auto id = static_cast<std::size_t>(input.parameter);
      for (std::size_t j = 0; j < leaves_[id].size(); ++j)
        if (leaves_[id][j].storage == input.storage) fresh->inputs[i] = {leaf_nodes_[id][j], 0};
    } else {
      // A detached input of a region that runs again: its gradient is not asked for, but its users keep what they
      // would.
      Ref<Node> nowhere(new Node);
      nowhere->op = Op::accumulate;
      fresh->inputs[i] = {nowhere, 0};
    }
  }
  return fresh;
}

void Trace::keep(const Ref<Node>& node, const Tensor& tensor) {
  if (!node) return;
  Tensor detached = tensor;
  detached.grad_fn = {};
  if (recomputing_) {
    CheckpointFrame& frame = *recomputing_;
    detached.storage->keep();
    frame.recomputed.push_back(std::move(detached));
    if (static_cast<int>(frame.recomputed.size()) == frame.packed) throw StopRecomputing{};
    return;
  }
  if (packing_) {
    node->kept.emplace_back(packing_, packing_->packed++);
    return;
  }
  Storage& storage = *tensor.storage;
  if (storage.part == Part::temporaries || storage.part == Part::saved || storage.part == Part::autocast_copies)
    kept_.push_back({module_, node->op, tensor.dtype, tensor.layout.shape, storage.bytes,
                     storage.part == Part::autocast_copies ? Part::autocast_copies : Part::saved, !storage.kept_before,
                     repeat_});
  storage.kept_before = true;
  node->kept.emplace_back(std::move(detached));
}

void Trace::produced(const Ref<Node>& node, Tensor& output) {
  if (!node) return;
  output.requires_grad = true;
  output.grad_fn = node;
  output.output = static_cast<std::uint8_t>(node->outputs.size());
  node->outputs.push_back({output.dtype, output.layout.shape});
}

namespace {

// Bytes a kernel touches when it reads or writes each distinct element once (axes of stride 0 repeat elements).
Bytes touched(const Tensor& t) {
  Count distinct = 1;
  for (int i = 0; i < t.rank(); ++i)
    if (t.layout.stride[i] != 0 || t.layout.shape[i] == 0) distinct = checked::multiply(distinct, t.layout.shape[i]);
  return size_of(t.dtype) * distinct;
}

}  // namespace

Launch& Trace::launch(Op op, DType dtype, std::initializer_list<const Tensor*> read,
                      std::initializer_list<const Tensor*> written) {
  Launch l;
  l.op = op;
  l.pass = pass_;
  l.phase = ledger.phase();
  l.dtype = dtype;
  l.module = module_;
  l.repeat = repeat_;
  for (const Tensor* t : read) l.read += touched(*t);
  for (const Tensor* t : written) l.written += touched(*t);
  tape_.push_back(l);
  return tape_.back();
}

Trace::Scope::Scope(Trace& trace, std::string_view name) : trace_(trace), before_(trace.module_) {
  trace.module_ = trace.module_named(before_, name);
}

std::uint16_t Trace::module_named(std::uint16_t parent, std::string_view name) {
  const auto next = static_cast<std::uint16_t>(modules_.size());
  const auto [where, added] = module_ids_.try_emplace({parent, name}, next);
  if (added) modules_.push_back(parent == 0 ? std::string(name) : modules_[parent] + "." + std::string(name));
  return where->second;
}

void Trace::repeat_blocks(Count count, const std::function<void(Count)>& block) {
  const Count skipped = trace_every_block ? 0 : std::max<Count>(count - traced_blocks, 0);
  for (Count i = 0; i < count; ++i) {
    block_ = static_cast<int>(skipped_after_.size());
    const bool stands_for_skipped = skipped > 0 && i == traced_blocks / 2 - 1;
    skipped_after_.push_back(stands_for_skipped ? skipped : 0);
    repeat_ = stands_for_skipped ? 1 + skipped : 1;
    const auto before = ledger.snapshot();
    block(i);
    if (stands_for_skipped) {
      ledger.repeat_since(before, skipped);
      i += skipped;
    }
  }
  block_ = -1;
  repeat_ = 1;
}

void Trace::enter_autocast() { autocast_on_ = settings.autocast.has_value(); }

void Trace::leave_autocast() {
  autocast_copies_ = ledger.parts()[static_cast<std::size_t>(Part::autocast_copies)];
  autocast_on_ = false;
  const int blocks = static_cast<int>(skipped_after_.size());
  for (int b = -1; b < blocks; ++b) {
    const auto before = ledger.snapshot();
    for (auto it = autocast_cache_.begin(); it != autocast_cache_.end();)
      it = it->second.block == b ? autocast_cache_.erase(it) : std::next(it);
    if (b >= 0) ledger.repeat_since(before, skipped_after_[static_cast<std::size_t>(b)]);
  }
}

Tensor Trace::to_autocast(const Tensor& x) {
  if (!autocast_on_ || !is_floating_point(x.dtype) || x.dtype == *settings.autocast || x.dtype == DType::float64)
    return x;
  const bool cacheable = x.dtype == DType::float32 && x.requires_grad && x.parameter >= 0 && !x.is_view;
  if (cacheable) {
    const auto found = autocast_cache_.find(x.storage.get());
    if (found != autocast_cache_.end()) return found->second.copy;
  }
  Tensor copy = cast(*this, x, *settings.autocast);
  if (x.storage->part == Part::parameters) copy.storage->become(Part::autocast_copies);
  if (cacheable) autocast_cache_.emplace(x.storage.get(), CachedCopy{copy, block_});
  return copy;
}

Tensor Trace::to_float32_under_autocast(const Tensor& x) {
  const bool low = x.dtype == DType::float16 || x.dtype == DType::bfloat16;
  if (!autocast_on_ || !low) return x;
  Tensor wide = cast(*this, x, DType::float32);
  if (x.storage->part == Part::parameters) wide.storage->become(Part::autocast_copies);
  return wide;
}

}  // namespace llmcalc
