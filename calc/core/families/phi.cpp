// Phi (parallel, LayerNorm, biases) and Phi-3 (llama with fused projections); StableLM, StarCoder 2 and Nemotron, which
// are llama with LayerNorm and other MLPs.
#include "core/families/common.hpp"
#include "core/families/families.hpp"

namespace llmcalc {
namespace {

const NormSpec layer_norm{NormKind::layer, true, true};

}  // namespace

std::unique_ptr<Model> build_phi(Fields& f) {
  TransformerSpec s = read_llama_like(f, "phi", {.inner = 8192, .activation = "gelu_new"});
  LayerSpec& layer = s.kinds.front();
  layer.form = BlockForm::parallel;
  layer.before_mlp = {};
  set_norms(s, layer_norm);
  s.final_norm.name = "final_layernorm";
  s.head_bias = true;
  s.embedding_dropout = f.rate("embd_pdrop", 0);
  AttentionSpec& a = layer.attention;
  a.qkv_bias = a.out_bias = true;
  a.out_name = "dense";
  a.out_dropout = layer.mlp.dropout = f.rate("resid_pdrop", 0);
  if (f.flag("qk_layernorm", false)) {
    a.qk_norm = QkNorm::per_head;
    a.q_k_norm = layer_norm;
    a.q_norm_name = "q_layernorm";
    a.k_norm_name = "k_layernorm";
  }
  set_partial_rotary(s, rotary_size(f, a.qk_size, 0.5));
  set_plain_mlp(layer.mlp, true, "fc1", "fc2");
  f.ignore("layer_norm_eps");
  return make_transformer(std::move(s));
}

std::unique_ptr<Model> build_phi3(Fields& f) {
  TransformerSpec s = read_llama_like(f, "phi3", {.inner = 8192, .max_seq = 4096});
  LayerSpec& layer = s.kinds.front();
  layer.attention.qkv_form = QkvForm::slices;
  layer.attention.out_dropout = layer.mlp.dropout = f.rate("resid_pdrop", 0);
  layer.attention.window = f.optional_count("sliding_window", std::nullopt);
  layer.mlp.fused = true;
  set_partial_rotary(s, rotary_size(f, layer.attention.qk_size, 1.0));
  f.ignore({"embd_pdrop", "original_max_position_embeddings", "attention_bias"});
  return make_transformer(std::move(s));
}

std::unique_ptr<Model> build_stablelm(Fields& f) {
  TransformerSpec s = read_llama_like(f, "stablelm", {.inner = 6912, .max_seq = 4096, .kv_heads = 32});
  set_norms(s, layer_norm);
  LayerSpec& layer = s.kinds.front();
  AttentionSpec& a = layer.attention;
  a.qkv_bias = f.flag("use_qkv_bias", false);
  if (f.flag("qk_layernorm", false)) {
    a.qk_norm = QkNorm::norm_each_head;
    a.q_k_norm = {NormKind::layer, true, false};
    a.q_norm_name = "q_layernorm";
    a.k_norm_name = "k_layernorm";
  }
  set_partial_rotary(s, rotary_size(f, a.qk_size, 0.25));
  layer.mlp.dropout = f.rate("hidden_dropout", 0);
  if (f.flag("use_parallel_residual", false)) {
    layer.form = BlockForm::parallel;
    layer.before_mlp = {};
  }
  f.ignore("layer_norm_eps");
  return make_transformer(std::move(s));
}

std::unique_ptr<Model> build_starcoder2(Fields& f) {
  TransformerSpec s = read_llama_like(
      f, "starcoder2",
      {.inner = 12288, .max_seq = 4096, .kv_heads = 2, .tied = true, .activation = "gelu_pytorch_tanh"});
  set_norms(s, layer_norm);
  LayerSpec& layer = s.kinds.front();
  const bool biases = f.flag("use_bias", true);
  layer.attention.qkv_bias = layer.attention.out_bias = biases;
  layer.attention.window = f.optional_count("sliding_window", std::nullopt);
  layer.attention.out_dropout = layer.mlp.dropout = f.rate("residual_dropout", 0);
  s.embedding_dropout = f.rate("embedding_dropout", 0);
  set_plain_mlp(layer.mlp, biases, "c_fc", "c_proj");
  f.ignore({"norm_epsilon", "mlp_type", "norm_type"});
  return make_transformer(std::move(s));
}

std::unique_ptr<Model> build_nemotron(Fields& f) {
  TransformerSpec s = read_llama_like(f, "nemotron", {.inner = 24576, .max_seq = 4096, .activation = "relu2"});
  set_norms(s, {NormKind::layer_plus_one, true, true});
  LayerSpec& layer = s.kinds.front();
  layer.attention.qkv_bias = layer.attention.out_bias = f.flag("attention_bias", false);
  set_partial_rotary(s, rotary_size(f, layer.attention.qk_size, 0.5));
  set_plain_mlp(layer.mlp, f.flag("mlp_bias", false), "up_proj", "down_proj");
  f.ignore("norm_eps");
  return make_transformer(std::move(s));
}

}  // namespace llmcalc
