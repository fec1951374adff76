// Which parameter tensors a model has. One registry serves the counts, the optimizer and the trace.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/dtype.hpp"
#include "core/layout.hpp"
#include "core/units.hpp"

namespace llmcalc {

enum class Role : unsigned char {
  weight,         // everything else
  embedding,      // the input token table
  positions,      // another look-up table: positions, token types
  head,           // the output projection
  routed_expert,  // all experts of a layer in one tensor, or one expert's
};

// The half of a layer a tensor stands in, norms inside it included.
enum class Half : unsigned char { neither, attention, mlp };

using ParameterId = std::int32_t;

struct Parameter {
  std::string name;  // inside its layer, or whole: "self_attn.q_proj.weight"
  Dims shape;
  Role role = Role::weight;
  int layer_kind = -1;  // -1: outside the layers
  Half half = Half::neither;
  bool trainable = true;
  bool always_float32 = false;       // e.g. a router that stays in float32 in a 16-bit model
  Count copies = 1;                  // how many tensors of this name a layer has (an expert each)
  std::optional<DType> stored = {};  // overrides the precision recipe's weight dtype
  bool quantised = false;            // stored in 4 bits (adapters.hpp)
  bool predicts = false;             // of the heads that multi-token prediction adds

  Count elements() const { return llmcalc::elements(shape) * copies; }
};

// Layers with the same tensors.
struct LayerKind {
  std::string name;                          // "decoder", "dense", "moe"
  std::string prefix;                        // "model.layers."
  std::vector<Count> layers;                 // which ones
  Count experts = 0, experts_per_token = 0;  // routed ones, for an MoE layer
};

// A tensor that is no parameter but takes memory and is in checkpoints or made at start.
struct Buffer {
  std::string name;
  Bytes bytes;
};

class Parameters {
 public:
  // Kinds are opened in turn: what is added in between belongs to the kind.
  int begin_layers(std::string name, std::string prefix, std::vector<Count> layers);
  void end_layers() { kind_ = -1; }

  // What is added in its lifetime belongs to that half of a layer.
  class Within {
   public:
    Within(Parameters& parameters, Half half) : parameters_(parameters), before_(parameters.half_) {
      parameters.half_ = half;
    }
    ~Within() { parameters_.half_ = before_; }
    Within(const Within&) = delete;
    Within& operator=(const Within&) = delete;

   private:
    Parameters& parameters_;
    Half before_;
  };

  ParameterId add(std::string name, Dims shape, Role role = Role::weight);
  Parameter& operator[](ParameterId id) { return all_[static_cast<std::size_t>(id)]; }
  const Parameter& operator[](ParameterId id) const { return all_[static_cast<std::size_t>(id)]; }
  const std::vector<Parameter>& all() const { return all_; }
  std::vector<LayerKind>& kinds() { return kinds_; }
  const std::vector<LayerKind>& kinds() const { return kinds_; }
  std::vector<Buffer>& buffers() { return buffers_; }
  const std::vector<Buffer>& buffers() const { return buffers_; }
  bool head_is_tied = false;

  // In how many layers a parameter stands (1 outside layers).
  Count instances(const Parameter& parameter) const;
  // How many tensors that makes, with its copies.
  Count tensors(const Parameter& parameter) const;
  // With what stands before it: "model.layers.*.self_attn.q_proj.weight".
  std::string whole_name(const Parameter& parameter) const;

 private:
  std::vector<Parameter> all_;
  std::vector<LayerKind> kinds_;
  std::vector<Buffer> buffers_;
  int kind_ = -1;
  Half half_ = Half::neither;
};

// A Linear or Conv1D: ids of its weight and, where it has one, its bias.
struct LinearWeights {
  ParameterId weight = -1, bias = -1;
};
LinearWeights add_linear(Parameters& p, const std::string& name, Count in, Count out, bool bias,
                         Role role = Role::weight);

// The counts of design.md 6 and of the contract.
struct ParameterCounts {
  Count total = 0, active = 0, compute = 0, embedding = 0, positions = 0, head = 0, trainable = 0;
  Count prediction = 0;  // in `total`: what multi-token prediction adds
  bool tied = false;
};
ParameterCounts count_parameters(const Parameters& parameters);

// Elements of one layer of that kind.
Count layer_elements(const Parameters& parameters, int kind);

}  // namespace llmcalc
