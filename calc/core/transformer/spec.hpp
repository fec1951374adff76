// The switches of a decoder-only transformer. A model family is a function that fills them in from its own keys
// (families/), `architecture: transformer` reads them from plain ones; transformer.cpp runs whatever they say.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/blocks/activation.hpp"
#include "core/blocks/attention.hpp"
#include "core/blocks/norm.hpp"
#include "core/blocks/rotary.hpp"
#include "core/model.hpp"

namespace llmcalc {

// A norm that stands under `name` ("input_layernorm"); no name: there is none.
struct NamedNorm {
  std::string name;
  NormSpec norm;

  bool exists() const { return !name.empty(); }
};

// How a Linear is stored and applied.
enum class LinearForm : unsigned char {
  linear,  // torch.nn.Linear: (out, in), bias in the same kernel
  conv1d,  // GPT-2's: (in, out)
  matmul,  // Falcon's: x @ weight.T, then + bias
};

// How q, k and v come out of their projections, each row of a fused weight in this order.
enum class QkvForm : unsigned char {
  separate,      // three weights
  slices,        // one; rows of q, then k, then v, taken by slicing
  split,         // the same, by split
  chunks,        // the same, in three equal chunks
  heads_of_qkv,  // one; for each head q, k, v next to one another, in three chunks of the head
  heads_select,  // the same, by selecting from an axis of length 3
  one_kv_last,   // one; heads of q, then one of k and one of v, as two more heads
  one_kv_split,  // one; q, then a single head of k and of v that keep the shape of rows
  groups,        // one; for each kv head its group of q, then k, then v, spread to all heads
};

// Multi-head latent attention: q, k and v through low-rank projections, part of each head rotary.
struct LatentSpec {
  std::optional<Count> q_rank;  // none: q straight from the hidden state
  Count kv_rank = 0;
  Count plain_size = 0, rotary_size = 0;  // of a q/k head
  NormSpec norm;
  bool down_bias = false;  // of the projections down to the ranks
};

// DeepSeek V4's attention: q by way of a low rank, one key that is also the value, the output in groups of low rank.
struct LowRankSpec {
  Count q_rank = 0, out_groups = 1, out_rank = 0;
  NormSpec norm;
};

// A choice of the keys that each query sees, made by small heads of its own (DeepSeek V3.2).
struct IndexerSpec {
  Count heads = 0, size = 0;
  Count chosen = 0;     // keys for a query
  bool shared = false;  // takes the choice of an earlier layer
  RotaryStyle rotary = RotaryStyle::halves;
  NormSpec norm{NormKind::layer, true, true};
};

enum class QkNorm : unsigned char {
  none,
  per_head,        // one weight of the head's size
  all_heads,       // over the whole row of q or k, before it is cut into heads
  heads_by_size,   // a weight of (heads, size), normalised over the size (Cohere)
  norm_each_head,  // a norm of its own for each head (StableLM)
  after_rotary,    // no weight, over a head, after the rotation (Llama 4)
};

struct AttentionSpec {
  std::string name = "self_attn";
  Count heads = 0, kv_heads = 0, qk_size = 0, v_size = 0;
  QkvForm qkv_form = QkvForm::separate;
  LinearForm linear = LinearForm::linear;
  bool qkv_bias = false, out_bias = false;
  std::string q_name = "q_proj", k_name = "k_proj", v_name = "v_proj", qkv_name = "qkv_proj", out_name = "o_proj";
  bool v_is_k = false;     // no projection of its own for v (Gemma 4's global layers)
  bool reuses_kv = false;  // k and v of an earlier layer, no projections at all (Gemma 4)
  bool clips_qkv = false;
  bool gates_output = false;  // q's projection makes a gate too; its sigmoid multiplies the output (Qwen3-Next)
  bool causal = true;         // a token sees only those before it
  QkNorm qk_norm = QkNorm::none;
  NormSpec q_k_norm;
  std::string q_norm_name = "q_norm", k_norm_name = "k_norm";
  bool norms_v = false;  // v too, without weight (Gemma 4)
  RotarySpec rotary;
  std::size_t rotary_table = 0;    // which of the model's tables
  bool tunes_temperature = false;  // q times a number for each position (Llama 4's layers without positions)
  bool scales_q = false;           // q is scaled after its projection (OPT)
  std::optional<Count> window;
  bool cache_has_window = true;  // see AttentionTraits
  std::optional<Count> chunk;    // attends within chunks of so many tokens (Llama 4)
  EagerStyle scores;
  std::string why_not_fused;
  bool always_masked = false;  // a mask is handed over even where the kernel's causal flag would do
  double dropout = 0, out_dropout = 0;
  std::optional<LatentSpec> latent;
  std::optional<LowRankSpec> low_rank;
  std::optional<IndexerSpec> indexer;  // with latent attention
};

struct MlpSpec {
  std::string name = "mlp";
  Count inner = 0;  // 0: no MLP
  bool gated = true;
  bool fused = false;  // gate and up in one weight
  Activation activation = Activation::silu;
  LinearForm linear = LinearForm::linear;
  bool up_bias = false, down_bias = false;
  std::string gate_name = "gate_proj", up_name = "up_proj", gate_up_name = "gate_up_proj", down_name = "down_proj";
  double dropout = 0;
};

enum class BlockForm : unsigned char {
  sequential,      // x += attention(norm(x)); x += mlp(norm(x)), and norms after each where named
  norm_after_add,  // x = norm(x + attention(x)); x = norm(x + mlp(x)): the first transformers, OPT-350m
  parallel,        // x + attention(norm(x)) + mlp(norm or a second one(x))
};

// A part of a layer that is no attention (a state-space layer), for families that have one. It registers its parameters
// once and is run for each layer.
class Mixer {
 public:
  virtual ~Mixer() = default;
  virtual void add_parameters(Parameters& parameters) = 0;
  virtual Tensor run(Trace& t, const Job& job, const Tensor& x) const = 0;
  virtual SequenceState state() const { return {}; }  // of one layer
};

struct ExpertsSpec;  // experts.hpp

// A tensor that is counted but takes no part in the trace: what the library adds to a family's usual form.
struct ExtraParameter {
  std::string name;
  Dims shape;
  Role role = Role::weight;
};

// One kind of layer.
struct LayerSpec {
  std::string name = "decoder";
  BlockForm form = BlockForm::sequential;
  AttentionSpec attention;
  bool has_attention = true;
  std::shared_ptr<Mixer> mixer;  // instead of attention
  MlpSpec mlp;
  std::shared_ptr<const ExpertsSpec> experts;  // instead of, or with, the MLP
  NamedNorm before_attention{"input_layernorm", {}}, after_attention, before_mlp{"post_attention_layernorm", {}},
      after_mlp;
  // Experts beside the MLP, each with norms of its own, added up (Gemma 4); used where there are both.
  NamedNorm after_dense, before_experts, after_experts;
  std::vector<ExtraParameter> extra;
  bool residual_is_normed = false;  // the residual is what the norm put out (Bloom's option)
  std::optional<double> residual_multiplier;
  bool adds_in_place = false;  // parallel: mlp += attention, then dropout, then + x (Falcon)
  double residual_dropout = 0;
};

// Multi-token prediction: layers behind the last one, each for one token further. A depth joins the embedding of the
// next token and the hidden state, each behind a norm, by a projection, and runs layers of the model's own kinds; the
// embedding and the head are the model's.
struct PredictionSpec {
  Count depths = 0;               // how many tokens further; 0: the configuration states none
  std::vector<LayerSpec> layers;  // what one depth runs, in order
  std::string prefix;             // a list of their own; empty: they continue that of the model's layers
  NamedNorm of_embedding{"enorm", {}}, of_hidden{"hnorm", {}}, last{"shared_head.norm", {}};
  std::string projection_name = "eh_proj";
  bool projection_bias = false;
  std::string shared_prefix;  // not empty: norms and projection stand there, once for all depths
};

struct TransformerSpec {
  std::string architecture;
  Count hidden = 0, vocabulary = 0, max_seq = 0;

  // Names as the checkpoint has them.
  std::string base = "model.", layers_name = "layers", embedding_name = "embed_tokens", positions_name,
              head_name = "lm_head";

  std::optional<Count> embedding_size;  // projected to `hidden` and back where it differs (OPT-350m)
  std::string project_in_name = "project_in", project_out_name = "project_out";
  Count positions = 0;                     // rows of a learned table of positions
  bool position_ids_per_sequence = false;  // ids (B, T) rather than (1, T)
  NamedNorm embedding_norm;
  std::optional<double> embedding_multiplier;
  double embedding_dropout = 0;
  std::string alibi;  // not empty: a table of position biases is made ("bloom", "falcon", "mpt")

  std::vector<Count> rotary_sizes;  // one for each rotary table
  DType rotary_table_dtype = DType::bfloat16;

  std::vector<LayerSpec> kinds;
  std::vector<int> pattern;  // the kind of each layer

  NamedNorm final_norm{"norm", {}};
  std::vector<ExtraParameter> extra;
  PredictionSpec prediction;
  bool tied = false;
  bool head_bias = false;
  std::optional<double> logit_scale;  // a factor or divisor
  std::optional<double> logit_softcap;
  bool mask_is_kept_by_recomputation = false;
};

// Whether `size` elements of a head can turn in pairs.
constexpr bool can_turn(Count size, Count head_size) { return size >= 2 && size <= head_size && size % 2 == 0; }

// Makes the model; a rotation that cannot be (can_turn) is left out.
std::unique_ptr<Model> make_transformer(TransformerSpec spec);

}  // namespace llmcalc
