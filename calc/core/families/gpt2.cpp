// GPT-2 and its descendants with learned positions: GPT-BigCode (one k/v head), GPT-Neo (local layers).
#include "core/families/common.hpp"
#include "core/families/families.hpp"
#include "core/suggest.hpp"

namespace llmcalc {
namespace {

const NormSpec layer_norm{NormKind::layer, true, true};

// What all three share: names, norms with biases, an MLP of two projections.
TransformerSpec gpt(Fields& f, std::string architecture, const KeyNames& layers_key) {
  TransformerSpec s;
  s.architecture = std::move(architecture);
  s.base = "transformer.";
  s.layers_name = "h";
  s.embedding_name = "wte";
  s.positions_name = "wpe";
  s.final_norm = {"ln_f", layer_norm};
  s.pattern.assign(static_cast<std::size_t>(f.layers(layers_key)), 0);
  s.vocabulary = f.count("vocab_size", 50257);
  s.tied = f.flag("tie_word_embeddings", true);
  LayerSpec layer;
  layer.before_attention = {"ln_1", layer_norm};
  layer.before_mlp = {"ln_2", layer_norm};
  layer.attention.name = "attn";
  layer.attention.out_name = "c_proj";
  layer.mlp.gated = false;
  layer.mlp.up_bias = layer.mlp.down_bias = true;
  layer.mlp.up_name = "c_fc";
  layer.mlp.down_name = "c_proj";
  s.kinds.push_back(layer);
  return s;
}

void read_gpt2_sizes(Fields& f, TransformerSpec& s) {
  LayerSpec& layer = s.kinds.front();
  AttentionSpec& a = layer.attention;
  s.hidden = f.count({"n_embd", "hidden_size"});
  a.heads = a.kv_heads = f.count({"n_head", "num_attention_heads"});
  a.qk_size = a.v_size = s.hidden / a.heads;
  check_heads(f, {"n_head", "num_attention_heads"}, "n_head", s.hidden, a.heads, a.heads, HeadSize::divides);
  s.max_seq = s.positions = f.count({"n_positions", "max_position_embeddings"}, 1024);
  layer.mlp.inner = f.optional_count("n_inner", std::nullopt).value_or(4 * s.hidden);
  a.qkv_bias = a.out_bias = true;
  a.qkv_name = "c_attn";
  a.dropout = f.rate("attn_pdrop", 0.1);
  a.out_dropout = layer.mlp.dropout = f.rate("resid_pdrop", 0.1);
  s.embedding_dropout = f.rate("embd_pdrop", 0.1);
  f.ignore({"n_ctx", "scale_attn_weights", "scale_attn_by_inverse_layer_idx", "layer_norm_epsilon"});
  if (f.flag("add_cross_attention", false)) f.error("add_cross_attention", "cross-attention is not known here");
}

// [[["global", "local"], 12]]: pairs of a list of kinds and how often it stands there.
std::vector<int> read_attention_types(Fields& f, std::size_t layers) {
  std::vector<int> pattern;
  const Value* types = f.raw("attention_types");
  if (!types) {
    for (std::size_t i = 0; i < layers; ++i) pattern.push_back(static_cast<int>(i % 2));
    return pattern;
  }
  for (const Value& item : types->list) {
    if (item.list.size() != 2 || item.list[0].list.empty() || item.list[1].integer < 1) {
      f.error("attention_types", "must be pairs of a list of kinds and how often it stands there");
      continue;
    }
    for (const Value& kind : item.list[0].list)
      if (kind.text != "local" && kind.text != "global")
        f.error("attention_types", "a layer is local or global, not " + in_quotes(kind.text));
    for (long long n = 0; n < item.list[1].integer && pattern.size() < layers; ++n)
      for (const Value& kind : item.list[0].list) pattern.push_back(kind.text == "local" ? 1 : 0);
  }
  if (pattern.size() != layers)
    f.error("attention_types",
            "describes " + std::to_string(pattern.size()) + " layers, the model has " + std::to_string(layers));
  pattern.resize(layers);
  return pattern;
}

}  // namespace

std::unique_ptr<Model> build_gpt2(Fields& f) {
  TransformerSpec s = gpt(f, "gpt2", {"n_layer", "num_hidden_layers"});
  read_gpt2_sizes(f, s);
  LayerSpec& layer = s.kinds.front();
  layer.mlp.activation = read_activation(f, "activation_function", "gelu_new");
  layer.attention.qkv_form = QkvForm::chunks;
  layer.attention.linear = layer.mlp.linear = LinearForm::conv1d;
  layer.attention.scores.softmax = SoftmaxForm::plain;
  layer.attention.scores.makes_contiguous = false;
  s.mask_is_kept_by_recomputation = true;
  f.ignore(
      {"summary_activation", "summary_first_dropout", "summary_proj_to_labels", "summary_type", "summary_use_proj"});
  if (f.flag("reorder_and_upcast_attn", false))
    f.error("reorder_and_upcast_attn", "this form of attention is not known here");
  return make_transformer(std::move(s));
}

std::unique_ptr<Model> build_gpt_bigcode(Fields& f) {
  TransformerSpec s = gpt(f, "gpt_bigcode", {"n_layer", "num_hidden_layers"});
  read_gpt2_sizes(f, s);
  LayerSpec& layer = s.kinds.front();
  layer.mlp.activation = read_activation(f, "activation_function", "gelu_pytorch_tanh");
  const bool one_kv_head = f.flag("multi_query", true);
  if (one_kv_head) layer.attention.kv_heads = 1;
  layer.attention.qkv_form = one_kv_head ? QkvForm::one_kv_split : QkvForm::heads_of_qkv;
  f.ignore({"attention_softmax_in_fp32", "scale_attention_softmax_in_fp32", "num_key_value_heads"});
  return make_transformer(std::move(s));
}

std::unique_ptr<Model> build_gpt_neo(Fields& f) {
  TransformerSpec s = gpt(f, "gpt_neo", {"num_layers", "num_hidden_layers"});
  LayerSpec& layer = s.kinds.front();
  AttentionSpec& a = layer.attention;
  s.hidden = f.count("hidden_size");
  a.heads = a.kv_heads = f.count({"num_heads", "num_attention_heads"}, 16);
  a.qk_size = a.v_size = s.hidden / a.heads;
  check_heads(f, {"num_heads", "num_attention_heads"}, "num_heads", s.hidden, a.heads, a.heads, HeadSize::divides);
  s.max_seq = s.positions = f.count("max_position_embeddings", 2048);
  layer.mlp.inner = f.optional_count("intermediate_size", std::nullopt).value_or(4 * s.hidden);
  layer.mlp.activation = read_activation(f, "activation_function", "gelu_new");
  a.name = "attn.attention";
  a.out_name = "out_proj";
  a.out_bias = true;
  a.dropout = f.rate("attention_dropout", 0);
  a.out_dropout = layer.mlp.dropout = f.rate("resid_dropout", 0);
  s.embedding_dropout = f.rate("embed_dropout", 0);
  a.scores.q_k_in_float32 = a.scores.causal_from_buffer = true;
  a.scores.scales = false;
  a.scores.softmax = SoftmaxForm::plain;
  a.why_not_fused = "GPT-Neo has only its own attention";
  a.cache_has_window = false;  // its configuration says nothing of a window that the library's cache would see
  s.pattern = read_attention_types(f, s.pattern.size());
  s.kinds.push_back(layer);
  s.kinds[1].attention.window = f.count("window_size", 256);
  f.ignore({"layer_norm_epsilon", "classifier_dropout", "attention_layers"});
  std::unique_ptr<Model> model = make_transformer(std::move(s));
  // A stored boolean mask of all positions in every layer.
  model->parameters.buffers().push_back(
      {"transformer.h.attn.attention.bias", Bytes(model->info.max_seq * model->info.max_seq) * model->info.layers});
  return model;
}

}  // namespace llmcalc
