// Keys of a model file that nobody asked for: errors in a profile, mostly silence in a config.json.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "core/fields.hpp"
#include "core/suggest.hpp"

namespace llmcalc {
namespace {

// Keys every document has beside those of its family.
constexpr std::string_view document_keys[] = {"schema", "name", "architecture", "source", "run", "model_type", "notes"};

// What a config.json carries for tokenizers, generation, initialisation, numerics of a fixed shape, and bookkeeping:
// no parameter, FLOP or byte depends on it.
constexpr std::string_view harmless[] = {
    "architectures",
    "auto_map",
    "bad_words_ids",
    "begin_suppress_tokens",
    "chunk_size_feed_forward",
    "custom_pipelines",
    "diversity_penalty",
    "do_sample",
    "dtype",
    "early_stopping",
    "embd_init_std",
    "finetuning_task",
    "format",
    "gradient_checkpointing",
    "head_init_scale",
    "id2label",
    "init_device",
    "init_method",
    "init_method_std",
    "init_std",
    "initializer_cutoff_factor",
    "initializer_factor",
    "initializer_range",
    "keys_to_ignore_at_inference",
    "label2id",
    "language",
    "length_penalty",
    "license",
    "logit_scale",
    "max_length",
    "min_length",
    "model_max_length",
    "n_words",
    "no_repeat_ngram_size",
    "norm_eps",
    "num_beam_groups",
    "num_beams",
    "num_labels",
    "num_return_sequences",
    "original_max_position_embeddings",
    "partial_rotary_factor",
    "prefix",
    "pretraining_tp",
    "problem_type",
    "pruned_heads",
    "remove_invalid_values",
    "repetition_penalty",
    "return_dict",
    "return_dict_in_generate",
    "routed_scaling_factor",
    "router_jitter_noise",
    "scale_attn_weights",
    "scoring_func",
    "seq_aux",
    "slow_but_exact",
    "suppress_tokens",
    "temperature",
    "tf_legacy_loss",
    "tie_encoder_decoder",
    "time_step_floor",
    "time_step_max",
    "time_step_min",
    "tokenizer_class",
    "top_k",
    "top_p",
    "topk_method",
    "torchscript",
    "typical_p",
    "unsloth_fixed",
    "unsloth_version",
    "use_bfloat16",
    "use_cache",
    "use_mrope",
    "z_loss",
    "vocab_file",
    "verbose",
};

constexpr std::string_view harmless_beginnings[] = {
    "_",        "attn_implementation", "forced_",    "generation_", "output_",      "quantization", "rope_", "rotary_",
    "summary_", "task_specific",       "tokenizer_", "torch_",      "transformers",
};

constexpr std::string_view harmless_endings[] = {
    "_aux_loss_coef", "_coef", "_dtype", "_eps", "_epsilon", "_loss_weight", "_token_id", "_token_ids", "_token_index",
};

// Features a family that does not know them does not have: of effect only where they are on.
constexpr std::string_view features[] = {"add_cross_attention", "is_decoder", "is_encoder_decoder",
                                         "use_parallel_residual"};

bool is_off(const Value* value) {
  return value && (value->is_null() || (value->kind == Value::Kind::boolean && !value->boolean));
}

bool is_harmless(std::string_view key) {
  return std::any_of(std::begin(harmless), std::end(harmless), [&](auto k) { return key == k; }) ||
         std::any_of(std::begin(harmless_beginnings), std::end(harmless_beginnings),
                     [&](auto k) { return key.starts_with(k); }) ||
         std::any_of(std::begin(harmless_endings), std::end(harmless_endings),
                     [&](auto k) { return key.ends_with(k); });
}

bool is_feature(std::string_view key) {
  return std::find(std::begin(features), std::end(features), key) != std::end(features);
}

}  // namespace

void report_unread(const Fields& fields, bool is_yaml, Diagnostics& diagnostics) {
  std::vector<std::string> doubtful;
  for (const std::string& key : fields.unread()) {
    const bool of_document = fields.path().empty() && std::find(std::begin(document_keys), std::end(document_keys),
                                                                key) != std::end(document_keys);
    if (of_document) continue;
    if (is_yaml) {
      diagnostics.error(fields.key_place(key), "unknown key", did_you_mean(key, fields.known()));
    } else if (!is_harmless(key) && !(is_feature(key) && is_off(fields.peek(key)))) {
      doubtful.push_back(key);
    }
  }
  if (doubtful.empty()) return;
  constexpr std::size_t most_listed = 12;
  const std::size_t more = doubtful.size() > most_listed ? doubtful.size() - most_listed : 0;
  doubtful.resize(doubtful.size() - more);
  for (std::string& key : doubtful) key = key.size() > 60 ? in_quotes(key) : key;
  if (more > 0) doubtful.push_back(std::to_string(more) + " more");
  Place place;
  place.file = fields.map_place().file;
  place.key = fields.path();
  diagnostics.warning(std::move(place), "not used here, and could change the count: " + join(doubtful));
}

}  // namespace llmcalc
