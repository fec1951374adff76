// The autograd graph: a node per differentiable operation, with what it keeps for its backward pass.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <vector>

#include "core/few.hpp"
#include "core/op.hpp"
#include "core/pool.hpp"
#include "core/tensor.hpp"

namespace llmcalc {

class Trace;
struct CheckpointFrame;

using Tensors = Few<Tensor, 4>;

// Gradients for a node's inputs from those of its outputs. An undefined tensor means: no gradient.
using BackwardFn = Tensors (*)(Trace&, const Node&, const Tensors& kept, const Tensors& gradients);

// A tensor a node keeps. Inside a checkpointed region only its number in the frame is kept.
class Kept {
 public:
  explicit Kept(Tensor tensor);
  Kept(Ref<CheckpointFrame> frame, int slot);
  Kept(Kept&&) noexcept = default;
  Kept& operator=(Kept&&) noexcept = default;
  ~Kept();

  Tensor unpack(Trace& trace) const;

 private:
  Tensor tensor_;
  Ref<CheckpointFrame> frame_;
  int slot_ = 0;
};

struct Edge {
  Ref<Node> node;
  std::uint8_t output = 0;
};

struct OutputMeta {
  DType dtype;
  Dims shape;
};

struct Node : Pooled<Node> {
  static constexpr std::uint64_t runs_first = std::numeric_limits<std::uint64_t>::max();

  Node() = default;
  ~Node();
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  std::uint32_t references = 0;
  std::uint64_t sequence = 0;  // the youngest ready node runs first, as in PyTorch's engine
  Op op = Op::add;
  std::uint16_t module = 0;
  int block = -1;  // which traced block of layers; -1 outside
  BackwardFn backward = nullptr;
  Few<Edge, 3> inputs;  // edge i receives gradient i; no node: no gradient needed
  Few<Kept, 2> kept;
  Few<OutputMeta, 1> outputs;

  // Arguments of the backward function: what they mean is between the operation and its backward.
  Dims shape, stride;
  Few<Count, 4> numbers;

  bool needs(std::size_t input) const { return static_cast<bool>(inputs[input].node); }

  // The engine's: gradients arrived so far, and how many are still to come.
  Few<Tensor, 1> arrived;
  int waiting = 0;
  bool counted = false;

  // A leaf's node: the parameter whose gradient ends here, and the gradient once it has.
  std::int32_t parameter = -1;
  Tensor gradient;
};

// A region that keeps only its inputs and runs again in the backward pass (torch.utils.checkpoint, non-reentrant).
struct CheckpointFrame {
  std::uint32_t references = 0;
  std::function<void(Trace&)> run;  // the region once more, on detached inputs
  std::vector<Kept> inputs;
  int packed = 0;                  // how many tensors the region's nodes keep
  std::vector<Tensor> recomputed;  // filled in order when the region runs again
  bool has_run = false;
  std::uint16_t module = 0;
  int block = -1;
};

}  // namespace llmcalc
