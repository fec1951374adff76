#include "core/decoder.hpp"

#include <algorithm>

#include "core/ops/cast.hpp"
#include "core/ops/data.hpp"
#include "core/ops/elementwise.hpp"
#include "core/ops/loss.hpp"
#include "core/ops/views.hpp"

namespace llmcalc {

namespace {

// Labels (B, T) shifted by one, as (B * T).
Tensor shifted(Trace& t, const Tensor& labels) {
  const Count batch = labels.size(0), length = labels.size(1);
  const Tensor padded = constant(t, DType::int64, {batch, length + 1});
  return view(t, contiguous(t, slice(t, padded, 1, 1, length)), {batch * length});
}

}  // namespace

Tensor causal_lm_loss(Trace& t, const Tensor& given, const Tensor& given_labels) {
  const Tensor logits = cast(t, given, DType::float32);
  const Tensor labels = shifted(t, given_labels);
  return cross_entropy(t, view(t, logits, {labels.size(0), logits.size(-1)}), labels);
}

// Chunked: what a training script gets from torch.utils.checkpoint around head and cross-entropy of each slice, the
// losses added up.
Tensor Decoder::loss_in_parts(Trace& t, const Job& job, const Tensor& hidden, const Tensor& given_labels) const {
  const Tensor labels = shifted(t, given_labels);
  const Count tokens = labels.size(0);
  const Tensor rows = view(t, hidden, {tokens, hidden.size(-1)});
  if (job.loss.kind == LossForm::Kind::fused) return fused_linear_cross_entropy(t, rows, head_weight(t), labels);
  const Count longest = ceil_div(tokens, job.loss.chunks);
  std::vector<Count> lengths;
  for (Count done = 0; done < tokens; done += longest) lengths.push_back(std::min(longest, tokens - done));
  const Tensors parts = split(t, rows, lengths, 0);
  Tensor loss;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Tensor ids = slice(t, labels, 0, static_cast<Count>(i) * longest, lengths[i]);
    const Tensor part = t.checkpoint({parts[i]}, [this, job, ids](Trace& trace, const Tensors& inputs) {
      Tensor logits = head(trace, job, inputs.front());
      logits = cast(trace, logits, DType::float32);
      return cross_entropy(trace, logits, ids);
    });
    loss = loss.defined() ? add(t, loss, part) : part;
  }
  return loss;
}

Tensor Decoder::loss(Trace& t, const Tensor& logits, const Tensor& ids) const { return causal_lm_loss(t, logits, ids); }

Tensor Decoder::forward(Trace& t, const Job& job, std::uint64_t& loss_begins) const {
  t.enter_autocast();
  const Tensor ids = t.input_ids(job.batch, job.seq);
  Tensor logits, last;
  Tensors further;
  {
    Tensor held;
    Tensor hidden = embed(t, job, ids, held);
    Shared shared = share(t, job, hidden);
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
    hidden = finish(t, job, hidden);
    held = {};
    shared = {};  // the model's own forward function ends here; the head is its caller's
    if (job.prefill) {
      logits = head(t, job, slice(t, hidden, 1, job.seq - 1, 1));
      hidden = {};
      logits = cast(t, logits, DType::float32);
      t.leave_autocast();
      return logits;
    }
    if (job.loss.kind == LossForm::Kind::plain)
      logits = head(t, job, hidden);
    else
      last = hidden;
    if (job.mtp) further = predict_further(t, job, hidden);
  }
  t.ledger.enter(Phase::loss);
  loss_begins = t.next_sequence();
  Tensor result;
  {
    const Trace::Scope scope(t, "loss");
    result = logits.defined() ? loss(t, logits, ids) : loss_in_parts(t, job, last, ids);
    logits = last = {};
  }
  for (Tensor& hidden : further) {
    const Trace::Scope scope(t, "mtp");
    Tensor one = job.loss.kind == LossForm::Kind::plain ? loss(t, head(t, job, hidden), ids)
                                                        : loss_in_parts(t, job, hidden, ids);
    hidden = {};
    one = mul(t, one, 1.0);  // its weight in the sum
    result = add(t, result, one);
  }
  t.leave_autocast();
  return result;
}

}  // namespace llmcalc
