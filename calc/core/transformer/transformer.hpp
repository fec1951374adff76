// Runs what a TransformerSpec describes, in the order and with the conversions and copies of the library's own code.
#pragma once

#include "core/decoder.hpp"
#include "core/transformer/spec.hpp"
#include "core/transformer/weights.hpp"

namespace llmcalc {

class Transformer : public Decoder {
 public:
  explicit Transformer(TransformerSpec spec);

 protected:
  Tensor embed(Trace& t, const Job& job, const Tensor& ids, Tensor& held) const override;
  Shared share(Trace& t, const Job& job, const Tensor& hidden) const override;
  Tensor layer(Trace& t, const Job& job, Count index, const Tensor& input, const Shared& shared) const override;
  Tensor finish(Trace& t, const Job& job, const Tensor& hidden) const override;
  Tensor head(Trace& t, const Job& job, const Tensor& hidden) const override;
  Tensor head_weight(Trace& t) const override { return t.parameter(weights_.head.weight); }
  std::vector<LayerRun> runs() const override { return layer_runs(spec_.pattern); }
  Tensor mask_kept_by_recomputation(const Shared& shared) const override;
  Tensors predict_further(Trace& t, const Job& job, const Tensor& hidden) const override;

  TransformerSpec spec_;
  TransformerWeights weights_;

 private:
  void describe();
  // What layers of these kinds are handed.
  Shared share_among(Trace& t, const Job& job, const Tensor& hidden, const std::vector<LayerSpec>& kinds,
                     const std::vector<AttentionTraits>& traits) const;

  std::vector<AttentionTraits> traits_, prediction_traits_;  // of each kind of layer
  PredictionWeights prediction_;
};

// One layer; `mask` is that of its kind.
Tensor run_layer(Trace& t, const Job& job, const LayerSpec& spec, const LayerWeights& weights,
                 const AttentionTraits& traits, const Tensor& input, const Shared& shared, const Tensor& mask);

// The parts of a layer (attention.cpp, mlp.cpp).
Tensor run_norm(Trace& t, std::string_view name, const NormSpec& spec, const NormWeights& weights, const Tensor& x);
Tensor run_linear(Trace& t, std::string_view name, LinearForm form, const LinearWeights& weights, const Tensor& x);
// Gives the projected output; `probabilities` is what the caller keeps alive.
Tensor run_attention(Trace& t, const Job& job, const AttentionSpec& spec, const AttentionWeights& weights,
                     const AttentionTraits& traits, const Tensor& x, const Shared& shared, const Tensor& mask,
                     Tensor& probabilities);
// The mask of a layer that chooses its keys (indexer.cpp); `q_latent` is q's low-rank form.
Tensor chosen_keys(Trace& t, const AttentionSpec& spec, const AttentionWeights& weights, const Tensor& x,
                   const Tensor& q_latent, const Shared& shared, const ScorePairs& pairs, const Tensor& mask);
Tensor run_mlp(Trace& t, const Job& job, const MlpSpec& spec, const MlpWeights& weights, const Tensor& x);
Tensor run_experts(Trace& t, const Job& job, const ExpertsSpec& spec, const ExpertsWeights& weights, const Tensor& x);

}  // namespace llmcalc
