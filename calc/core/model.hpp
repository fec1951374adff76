// A model as the engine sees it: its parameters, and a function that runs it on tensors without data.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/fields.hpp"
#include "core/ops/attention.hpp"
#include "core/parameters.hpp"
#include "core/trace.hpp"

namespace llmcalc {

enum class Implementation : unsigned char { transformers, fused, megatron };
enum class Recompute : unsigned char { none, selective, full };

struct LossForm {
  enum class Kind : unsigned char { plain, chunked, fused } kind = Kind::plain;
  Count chunks = 1;

  friend bool operator==(const LossForm&, const LossForm&) = default;
};

// One micro-batch and how it is run: what a model's forward function depends on besides its own sizes.
struct Job {
  Count batch = 1, seq = 1;
  std::vector<Count> lengths;  // packed documents; empty: one document
  AttentionKernel attention = AttentionKernel::flash;
  AttentionKernel masked_attention = AttentionKernel::efficient;  // where a window or packing needs a mask
  Recompute recompute = Recompute::none;
  Implementation implementation = Implementation::transformers;
  LossForm loss;
  bool prefill = false;           // the pass over a prompt: no loss, and logits of its last token alone
  std::optional<double> dropout;  // overrides every rate of the model
  bool mtp = false;               // with the heads of multi-token prediction

  double rate(double models) const { return dropout.value_or(models); }
  friend bool operator==(const Job&, const Job&) = default;
};

// The attention of one kind of layer, for choosing a kernel, counting pairs and sizing the KV cache.
struct AttentionTraits {
  Count layers = 0;  // how many have it
  Count heads = 0, kv_heads = 0, qk_size = 0, v_size = 0;
  std::optional<Count> window;  // sliding window, in tokens
  bool causal = true;
  std::string why_not_fused = {};   // not empty: the library has only its own form (soft-capped scores, sinks, ...)
  bool always_masked = false;       // a mask is handed over even where the kernel's causal flag would do
  std::optional<Count> chunk = {};  // attends within chunks of so many tokens
  Count latent_cache = 0;           // elements a token that stand for k and v of all heads (latent attention)
  bool cached = true;               // generation keeps its keys and values; an encoder's are used once
  bool cache_has_window = true;     // the library's cache drops what the window (or chunk) no longer sees
};

// What layers that mix tokens by a recurrence keep of one sequence from token to token, in elements.
struct SequenceState {
  Count convolution = 0;  // the last inputs of short convolutions, in the dtype of the weights
  Count recurrence = 0;   // in float32
};

struct ModelInfo {
  std::string architecture;  // "llama"
  Count hidden = 0, layers = 0, vocabulary = 0, max_seq = 0;
  std::vector<AttentionTraits> attention;  // one per distinct kind; empty: no attention at all
  SequenceState recurrent;                 // of all layers together
  bool mixture_of_experts = false;
  std::vector<AttentionTraits> prediction_attention;  // of the layers that Job::mtp adds
  std::string positions_from;  // "learned positions": a table of max_seq of them; empty: any number of positions
};

class Model {
 public:
  virtual ~Model() = default;

  Parameters parameters;
  // The same, then the heads of multi-token prediction; nothing where the configuration states none.
  std::optional<Parameters> with_prediction;
  ModelInfo info;

  const Parameters& parameters_for(const Job& job) const { return job.mtp ? *with_prediction : parameters; }

  // Forward pass with the loss of next-token prediction for (batch, seq) token ids; the phase goes from forward to
  // loss. Returns the loss; `loss_begins` receives the sequence number of the first node of the loss.
  virtual Tensor forward(Trace& t, const Job& job, std::uint64_t& loss_begins) const = 0;
};

// How far the numbers of an architecture are checked (docs/reference/architectures.md).
enum class Status : unsigned char { verified, counted, approximate };
std::string_view name_of(Status status);

struct Architecture {
  std::string_view name;  // transformers' model_type
  Status status;
  std::string_view summary;  // what sets it apart, in a few words
  std::unique_ptr<Model> (*build)(Fields& fields);
  std::string_view left_out = {};  // of an approximate one: what its trace has not
};

// Every architecture there is, one row each (architectures.cpp).
const std::vector<Architecture>& architectures();
// nullptr when there is none of that name.
const Architecture* architecture_named(std::string_view name);

}  // namespace llmcalc
