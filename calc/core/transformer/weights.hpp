// The parameters a TransformerSpec asks for, registered under the names checkpoints have, and their ids.
#pragma once

#include <vector>

#include "core/transformer/experts.hpp"
#include "core/transformer/spec.hpp"

namespace llmcalc {

struct NormWeights {
  ParameterId weight = -1, bias = -1;
};

struct AttentionWeights {
  LinearWeights q, k, v, qkv, out;
  NormWeights q_norm, k_norm;
  std::vector<NormWeights> q_head_norms, k_head_norms;
  LinearWeights q_down, q_up, kv_down, kv_up;  // latent attention
  NormWeights q_down_norm, kv_down_norm;
  LinearWeights index_q, index_k, index_weights;  // of the indexer
  NormWeights index_k_norm;
  ParameterId sinks = -1;
  LinearWeights out_down;  // before `out`, in groups (DeepSeek V4)
};

struct MlpWeights {
  LinearWeights gate, up, gate_up, down;
  ParameterId alpha_p = -1, alpha_n = -1;  // of xIELU
};

struct ExpertsWeights {
  LinearWeights router;
  ParameterId gate_up = -1, up = -1, down = -1, gate_up_bias = -1, down_bias = -1;
  MlpWeights shared;
  LinearWeights shared_gate;
};

struct LayerWeights {
  AttentionWeights attention;
  MlpWeights mlp;
  ExpertsWeights experts;
  NormWeights before_attention, after_attention, before_mlp, after_mlp, after_dense, before_experts, after_experts;
};

struct TransformerWeights {
  ParameterId embedding = -1, positions = -1;
  LinearWeights project_in, project_out, head;
  NormWeights embedding_norm, final_norm;
  std::vector<LayerWeights> kinds;  // of each LayerSpec; kinds with the same tensors share them
};

// Of the layers that predict further tokens: one depth's stand for all.
struct PredictionWeights {
  NormWeights of_embedding, of_hidden, last;
  LinearWeights projection;
  std::vector<LayerWeights> layers;  // of each PredictionSpec::layers
};

// The buffers of rotary tables for `size` elements of a head: frequencies and their unscaled copy, float32.
void add_frequencies(Parameters& p, const std::string& prefix, Count size, Count times = 1);

TransformerWeights add_parameters(Parameters& p, const TransformerSpec& spec);
PredictionWeights add_prediction(Parameters& p, const TransformerSpec& spec);

}  // namespace llmcalc
