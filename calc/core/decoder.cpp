#include "core/decoder.hpp"

#include "core/ops/cast.hpp"
#include "core/ops/data.hpp"
#include "core/ops/loss.hpp"
#include "core/ops/views.hpp"

namespace llmcalc {

Tensor causal_lm_loss(Trace& t, const Tensor& given, const Tensor& given_labels) {
  const Tensor logits = cast(t, given, DType::float32);
  const Count batch = given_labels.size(0), length = given_labels.size(1);
  const Tensor padded = constant(t, DType::int64, {batch, length + 1});
  const Tensor labels = contiguous(t, slice(t, padded, 1, 1, length));
  const Count vocabulary = logits.size(-1);
  return cross_entropy(t, view(t, logits, {batch * length, vocabulary}), view(t, labels, {batch * length}));
}

Tensor Decoder::loss(Trace& t, const Tensor& logits, const Tensor& ids) const { return causal_lm_loss(t, logits, ids); }

Tensor Decoder::forward(Trace& t, const Job& job, std::uint64_t& loss_begins) const {
  t.enter_autocast();
  const Tensor ids = t.input_ids(job.batch, job.seq);
  Tensor logits;
  {
    Tensor hidden = embed(t, job, ids);
    const Shared shared = share(t, job, hidden);
    Count done = 0;
    for (const LayerRun& run : runs()) {
      t.repeat_blocks(run.blocks, [&](Count block) {
        for (Count i = 0; i < run.length; ++i) {
          const Count index = done + block * run.length + i;
          const auto one_layer = [this, job, index, shared](Trace& trace, const Tensors& inputs) {
            const Trace::Scope scope(trace, "layers");
            trace.layer_instance = static_cast<int>(index) + 1;
            Tensor out = layer(trace, job, index, inputs.front(), shared);
            trace.layer_instance = 0;
            return out;
          };
          if (job.recompute == Recompute::full) {
            Tensors inputs{hidden};
            const Tensor mask = mask_kept_by_recomputation(shared);
            if (mask.defined()) inputs.push_back(mask);
            hidden = t.checkpoint(inputs, one_layer);
          } else {
            hidden = one_layer(t, {hidden});
          }
        }
      });
      done += run.blocks * run.length;
    }
    logits = head(t, job, hidden);
  }
  t.ledger.enter(Phase::loss);
  loss_begins = t.next_sequence();
  const Trace::Scope scope(t, "loss");
  Tensor result = loss(t, logits, ids);
  t.leave_autocast();
  return result;
}

}  // namespace llmcalc
