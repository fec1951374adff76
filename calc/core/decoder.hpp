// The frame all decoder-only language models share: embed, layers, norm, head, loss. A family fills in the parts.
#pragma once

#include "core/blocks/rotary.hpp"
#include "core/layer_runs.hpp"
#include "core/model.hpp"

namespace llmcalc {

// Tensors every layer is handed: made once a pass.
struct Shared {
  std::vector<RotaryTables> rotary;  // one pair of tables for each kind of rotation
  std::vector<Tensor> masks;         // by kind of layer; undefined: the kernel's own causal rule
  Tensor alibi;                      // position biases
};

class Decoder : public Model {
 public:
  Tensor forward(Trace& t, const Job& job, std::uint64_t& loss_begins) const override;

 protected:
  // Head and loss together, for a slice of the tokens at a time (LossForm::chunked, LossForm::fused).
  Tensor loss_in_parts(Trace& t, const Job& job, const Tensor& hidden, const Tensor& labels) const;

  // Ids (B, T) to hidden states (B, T, H). `held` receives what the model's forward function holds to its end.
  virtual Tensor embed(Trace& t, const Job& job, const Tensor& ids, Tensor& held) const = 0;
  virtual Shared share(Trace& t, const Job& job, const Tensor& hidden) const = 0;
  virtual Tensor layer(Trace& t, const Job& job, Count index, const Tensor& hidden, const Shared& shared) const = 0;
  // What comes between the last layer and the head: the last norm.
  virtual Tensor finish(Trace& t, const Job& job, const Tensor& hidden) const = 0;
  // The head: logits (..., V) of hidden states (..., H).
  virtual Tensor head(Trace& t, const Job& job, const Tensor& hidden) const = 0;
  // The head's weight (V, H).
  virtual Tensor head_weight(Trace& t) const = 0;

  // Hidden states (B, T, H) from which the head predicts one token further, then two, ... (Job::mtp).
  virtual Tensors predict_further(Trace&, const Job&, const Tensor&) const { return {}; }

  // The loss of logits (B, T, V) whose labels are `ids`. Default: of next-token prediction.
  virtual Tensor loss(Trace& t, const Tensor& logits, const Tensor& ids) const;

  // Layers alike in turn. Default: all are alike.
  virtual std::vector<LayerRun> runs() const { return {{info.layers, 1}}; }
  // The mask, where a recomputed layer takes it as a positional argument, and so keeps it; otherwise undefined.
  virtual Tensor mask_kept_by_recomputation(const Shared&) const { return {}; }
};

// The loss as transformers computes it for causal language models: float32 logits, labels shifted by one.
Tensor causal_lm_loss(Trace& t, const Tensor& logits, const Tensor& labels);

}  // namespace llmcalc
