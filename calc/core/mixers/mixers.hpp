// Parts of layers that mix tokens by a recurrence instead of attention, and parts that stand alone in a layer. As the
// fused kernels of mamba-ssm, causal-conv1d and flash-linear-attention run them (core/ops/recurrence.hpp); the
// library's own loops over tokens keep far more.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "core/transformer/spec.hpp"

namespace llmcalc {

// Mamba: each of `inner` channels has a state of `state` elements.
struct MambaSpec {
  std::string name = "mixer";
  Count hidden = 0, inner = 0, state = 0, width = 0, rank = 0;  // of the convolution; of the time step's projection
  bool bias = false, conv_bias = true;
  std::optional<NormSpec> norm;  // of the time step, B and C (Jamba; FalconMamba without weights)
};
std::shared_ptr<Mixer> make_mamba(const MambaSpec& spec);

// Mamba-2: heads of `head_size` channels share a decay, groups of heads share B and C.
struct Mamba2Spec {
  std::string name = "mixer";
  Count hidden = 0, heads = 0, head_size = 0, groups = 0, state = 0, width = 0;
  bool bias = false, conv_bias = true;

  Count inner() const { return checked::multiply(heads, head_size); }
  Count conv_channels() const { return inner() + 2 * checked::multiply(groups, state); }
};
std::shared_ptr<Mixer> make_mamba2(const Mamba2Spec& spec);

// The gated delta rule (Qwen3-Next): each value head has a state of key size x value size.
struct GatedDeltaSpec {
  std::string name = "linear_attn";
  Count hidden = 0, key_heads = 0, key_size = 0, value_heads = 0, value_size = 0, width = 0;
  bool fused_projections = true;  // q, k, v, z in one weight and b, a in another; otherwise q, k, v; z; b; a

  Count keys() const { return checked::multiply(key_heads, key_size); }
  Count values() const { return checked::multiply(value_heads, value_size); }
};
std::shared_ptr<Mixer> make_gated_delta(const GatedDeltaSpec& spec);

// Griffin's recurrent block: a gated linear recurrence of one element a channel (RG-LRU) times a gated branch.
struct RecurrentBlockSpec {
  std::string name = "temporal_block";
  Count hidden = 0, channels = 0, blocks = 0, width = 0;  // the gates' weights are block-diagonal
  Activation activation = Activation::gelu;
};
std::shared_ptr<Mixer> make_recurrent_block(const RecurrentBlockSpec& spec);

// Experts of two projections, in a narrower space where `latent` says so, beside one shared expert (Nemotron-H).
struct PlainExpertsSpec {
  std::string name = "mixer";
  Count hidden = 0, experts = 0, per_token = 0, inner = 0, groups = 1, top_groups = 1;
  std::optional<Count> latent;
  bool normalises = true,
       bias = false;  // biases of the shared expert and of the projections to and from the latent space
  MlpSpec shared;
};
std::shared_ptr<Mixer> make_plain_experts(const PlainExpertsSpec& spec);

// An MLP that is all there is in its layer (Nemotron-H).
std::shared_ptr<Mixer> make_mlp_mixer(const MlpSpec& spec, Count hidden);

}  // namespace llmcalc
