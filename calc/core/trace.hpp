// Runs a model on tensors without data and records what happens: the tape of launches, the graph, the live bytes.
//
// Operations (calc/core/ops) are functions on a Trace and Tensors. A Trace is the only context there is; nothing is
// global. One Trace is one micro-batch: forward, loss, backward.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/node.hpp"

namespace llmcalc {

// A parameter as the trace needs it: the registry (parameters.hpp) has the rest.
struct LeafSpec {
  Dims shape;
  DType dtype = DType::float32;
  bool trainable = true;
};

// One tensor a node kept, as `--explain` lists them.
struct KeptRecord {
  std::uint16_t module;
  Op op;
  DType dtype;
  Dims shape;
  Bytes storage;  // bytes of the whole storage it pins
  Part part;      // saved or autocast_copies; parameters, buffers and inputs are not recorded
  bool first;     // the first time this storage is kept; only these add to the sum
  Count repeat;
};

// A storage that came into being, for those who look for a size.
struct AllocatedRecord {
  std::uint16_t module;
  DType dtype;
  Dims shape;
  Bytes bytes;
  Count repeat;
};

// Low-rank matrices beside a linear weight, or none (adapters.hpp).
struct AdapterLeaf {
  std::int32_t a = -1, b = -1;  // parameters (rank, in) and (out, rank)
  std::int32_t magnitude = -1;  // DoRA's, (out)
  double dropout = 0;
  std::optional<DType> computes;  // a 4-bit weight is unpacked to this dtype for every product
};

struct TraceSettings {
  std::optional<DType> autocast;  // the low-precision dtype
  bool gradients_exist = false;   // a later micro-batch of an accumulated step
  bool fused_kernels = false;     // norms, gated activations and softmax as single kernels (ops/fused.hpp)
  // By parameter: what its optimizer step needs for a moment. Given, every parameter is stepped as soon as its gradient
  // is there, and the gradient freed.
  const std::vector<Bytes>* steps_in_backward = nullptr;
};

class Trace {
 public:
  Trace(TraceSettings settings, std::vector<LeafSpec> leaves);

  TraceSettings settings;

 private:
  std::unique_ptr<Ledger> owned_ledger_ = std::make_unique<Ledger>();

 public:
  Ledger& ledger = *owned_ledger_;               // storages report to it: it stays where it is when a Trace moves
  std::vector<AllocatedRecord>* made = nullptr;  // every allocation is written to it
  std::vector<AdapterLeaf> adapters;             // by parameter; empty: there are none

  // ---- tensors
  // A new storage of that layout (its span must be dense from offset 0).
  Tensor allocate(DType dtype, const Dims& shape, Part part = Part::temporaries);
  Tensor allocate(DType dtype, const Layout& layout, Part part = Part::temporaries);
  // Token ids (batch, seq), int64; who runs the step has them on the books.
  Tensor input_ids(Count batch, Count seq);
  // The leaf of parameter `id`; each traced layer has its own.
  Tensor parameter(std::int32_t id);

  // ---- graph
  bool grad_enabled() const { return grad_enabled_; }
  // A node whose gradients go to `inputs`; nothing when none of them requires one.
  Ref<Node> node(Op op, BackwardFn function, const Few<const Tensor*, 4>& inputs);
  void keep(const Ref<Node>& node, const Tensor& tensor);
  void produced(const Ref<Node>& node, Tensor& output);  // `output` is the node's next output

  // ---- tape
  Launch& launch(Op op, DType dtype, std::initializer_list<const Tensor*> read,
                 std::initializer_list<const Tensor*> written);
  std::vector<Launch>& tape() { return tape_; }
  const std::vector<Launch>& tape() const { return tape_; }
  const std::vector<KeptRecord>& kept() const { return kept_; }
  const std::vector<std::string>& modules() const { return modules_; }  // "layers.self_attn.q_proj"; [0] is ""

  // ---- where we are
  class Scope {  // names the module for its lifetime
   public:
    Scope(Trace& trace, std::string_view name);
    ~Scope() { trace_.module_ = before_; }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Trace& trace_;
    std::uint16_t before_;
  };

  // ---- layers
  // Runs blocks 0 .. count-1 of layers alike. At most four are traced (two at each end); the rest are accounted for by
  // repetition, which is exact: between equal blocks live bytes change linearly, so a peak lies at an end.
  // `block(i)` runs block i and must leave nothing alive but its effect on `hidden`.
  void repeat_blocks(Count count, const std::function<void(Count)>& block);
  static constexpr Count traced_blocks = 4;
  bool trace_every_block = false;  // for tests: repeat nothing

  // The layer of a block that parameters belong to, so that each traced one has its own leaves.
  int layer_instance = 0;

  // ---- autocast
  // `x` in autocast's low-precision dtype (a parameter's copy is cached), or as it is outside autocast.
  Tensor to_autocast(const Tensor& x);
  // `x` in float32 where autocast is on and `x` is a 16-bit float.
  Tensor to_float32_under_autocast(const Tensor& x);
  bool autocast_on() const { return autocast_on_; }
  void enter_autocast();                                              // nothing without settings.autocast
  void leave_autocast();                                              // drops the cached copies
  Bytes autocast_copies_at_exit() const { return autocast_copies_; }  // all that were alive then

  // Outside autocast for its lifetime.
  class AutocastOff {
   public:
    explicit AutocastOff(Trace& trace) : trace_(trace), before_(trace.autocast_on_) { trace.autocast_on_ = false; }
    ~AutocastOff() { trace_.autocast_on_ = before_; }
    AutocastOff(const AutocastOff&) = delete;
    AutocastOff& operator=(const AutocastOff&) = delete;

   private:
    Trace& trace_;
    bool before_;
  };

  // Nothing inside needs a gradient.
  class NoGrad {
   public:
    explicit NoGrad(Trace& trace) : trace_(trace), before_(trace.grad_enabled_) { trace.grad_enabled_ = false; }
    ~NoGrad() { trace_.grad_enabled_ = before_; }
    NoGrad(const NoGrad&) = delete;
    NoGrad& operator=(const NoGrad&) = delete;

   private:
    Trace& trace_;
    bool before_;
  };

  // ---- recomputation
  // Runs `region(inputs)` keeping only `inputs`; its nodes' tensors are recomputed in the backward pass.
  Tensor checkpoint(const Tensors& inputs, const std::function<Tensor(Trace&, const Tensors&)>& region);

  // ---- backward (engine.cpp)
  // The whole backward pass of `loss`, a scalar. `loss_ends` is the sequence number where the model ends and the loss
  // begins: what is younger belongs to the phase `loss`.
  void backward(Tensor loss, std::uint64_t loss_begins);
  std::uint64_t next_sequence() const { return sequence_; }

  Tensor recomputed(CheckpointFrame& frame, int slot);

 private:
  friend class Scope;
  struct StopRecomputing {};

  void accumulate(Tensor& into, Tensor gradient);
  void finish_leaf(Node& node, Tensor gradient);
  Tensors validated(const Node& node, Tensors gradients);
  void count_waiting(Node* root);
  void run_ready(std::uint64_t loss_begins);
  std::uint16_t module_named(std::uint16_t parent, std::string_view name);

  std::vector<LeafSpec> leaf_specs_;
  std::vector<int> instance_numbers_;
  std::vector<std::vector<Tensor>> leaves_;  // [parameter][where its layer_instance stands in instance_numbers_]
  std::vector<std::vector<Ref<Node>>> leaf_nodes_;
  std::vector<Launch> tape_;
  std::vector<KeptRecord> kept_;
  std::vector<std::string> modules_{""};
  std::map<std::pair<std::uint16_t, std::string_view>, std::uint16_t> module_ids_;
  std::uint16_t module_ = 0;
  Pass pass_ = Pass::forward;
  Count repeat_ = 1;
  int block_ = -1;
  std::vector<Count> skipped_after_;  // by traced block: how many equal blocks follow it untraced
  bool grad_enabled_ = true;
  bool autocast_on_ = false;
  struct CachedCopy {
    Tensor copy;
    int block;
  };
  std::map<const Storage*, CachedCopy> autocast_cache_;
  Bytes autocast_copies_;
  std::uint64_t sequence_ = 0;
  Ref<CheckpointFrame> packing_;      // inside a checkpointed region of the forward pass
  Ref<CheckpointFrame> recomputing_;  // while a region runs again
  std::vector<Node*> ready_;
};

}  // namespace llmcalc
