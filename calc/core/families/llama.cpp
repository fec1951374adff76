// The llama form: RMSNorm, rotary positions, grouped key/value heads, gated MLP; and the families that differ from it
// only by switches: mistral (sliding window), qwen2 (biases on q, k and v), qwen3 (q/k norms).
#include <algorithm>

#include "core/families/common.hpp"
#include "core/families/families.hpp"

namespace llmcalc {

std::unique_ptr<Model> build_llama(Fields& f) {
  TransformerSpec s = read_llama_like(f, "llama", {});
  AttentionSpec& a = s.kinds.front().attention;
  a.qkv_bias = a.out_bias = f.flag("attention_bias", false);
  MlpSpec& m = s.kinds.front().mlp;
  m.up_bias = m.down_bias = f.flag("mlp_bias", false);
  return make_transformer(std::move(s));
}

std::unique_ptr<Model> build_mistral(Fields& f) {
  LlamaDefaults assumed;
  assumed.inner = 14336;
  assumed.max_seq = 131072;
  assumed.kv_heads = 8;
  TransformerSpec s = read_llama_like(f, "mistral", assumed);
  s.kinds.front().attention.window = f.optional_count("sliding_window", 4096);
  return make_transformer(std::move(s));
}

std::unique_ptr<Model> build_qwen2(Fields& f) {
  LlamaDefaults assumed;
  assumed.inner = 22016;
  assumed.max_seq = 32768;
  assumed.kv_heads = 32;
  TransformerSpec s = read_llama_like(f, "qwen2", assumed);
  s.kinds.front().attention.qkv_bias = true;
  read_qwen_windows(f, s);
  return make_transformer(std::move(s));
}

std::unique_ptr<Model> build_qwen3(Fields& f) {
  LlamaDefaults assumed;
  assumed.inner = 22016;
  assumed.max_seq = 32768;
  assumed.kv_heads = 32;
  assumed.head_size = 128;
  TransformerSpec s = read_llama_like(f, "qwen3", assumed);
  AttentionSpec& a = s.kinds.front().attention;
  a.qkv_bias = a.out_bias = f.flag("attention_bias", false);
  a.qk_norm = QkNorm::per_head;
  read_qwen_windows(f, s);
  return make_transformer(std::move(s));
}

}  // namespace llmcalc
