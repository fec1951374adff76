// The switches of a mixture of experts.
#pragma once

#include <optional>
#include <string>

#include "core/transformer/spec.hpp"

namespace llmcalc {

// From the router's logits to the weights of the chosen experts.
enum class RouterKind : unsigned char {
  softmax_top,          // softmax in float32, the top k
  top_softmax,          // the top k, softmax over them in the logits' dtype
  top_softmax_float32,  // the same in float32 (GraniteMoE)
  sigmoid_groups,       // sigmoid + correction, the best groups, the top k, weights from the sigmoid: DeepSeek-V3
  softmax_groups,       // softmax in float32, the best groups or all, the top k: DeepSeek-V2
  sigmoid_top,          // sigmoid in float32 + correction, the top k: MiniMax
  softmax_corrected,    // softmax + correction in float32 outside autocast: Ernie
  softmax_norm,         // softmax in the logits' dtype, the top k, over their norm: DBRX
  sigmoid_input,        // sigmoid of the top k scales the experts' inputs: Llama 4
  sampled,              // two experts by sampling: Phi-3.5
};

enum class ExpertsStorage : unsigned char {
  gate_up,      // (E, 2I, H) and (E, H, I)
  in_by_out,    // (E, H, 2I) and (E, I, H)
  rows_of_all,  // w1, v1, w2 of (E*I, H) each: DBRX
};

struct ExpertsSpec {
  std::string name = "mlp";
  std::string router_name = "gate", experts_name = "experts";
  std::string gate_up_name = "gate_up_proj", down_name = "down_proj";
  RouterKind router = RouterKind::softmax_top;
  ExpertsStorage storage = ExpertsStorage::gate_up;
  Count experts = 0, per_token = 0, inner = 0;
  Count groups = 1, top_groups = 1;
  bool greedy = false;      // softmax_groups: all groups
  bool normalises = false;  // weights of a token add up to 1
  bool weights_in_router_dtype = false;
  bool router_bias = false, router_float32 = false;
  bool scales = false;             // weights times a number
  bool correction_buffer = false;  // a buffer beside the router, no parameter
  std::string correction_name = "gate.e_score_correction_bias";
  bool correction_parameter = false;  // the same as a parameter that is not trained (Ernie)
  bool biases = false;                // on the experts' projections
  bool clamps = false;  // gpt-oss: interleaved gate and up, clamped, (up + 1) * gate * sigmoid(alpha * gate)
  Activation activation = Activation::silu;
  MlpSpec shared;                // inner 0: none
  bool shared_first = false;     // run before the experts
  std::string shared_gate_name;  // its own gate, a sigmoid
};

}  // namespace llmcalc
