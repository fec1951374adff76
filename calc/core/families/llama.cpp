// The llama form: RMSNorm, rotary positions, grouped key/value heads, gated MLP; and the families that differ from it
// only by switches: mistral (sliding window), qwen2 (biases on q, k and v), qwen3 (q/k norms).
#include <algorithm>

#include "core/families/common.hpp"
#include "core/families/families.hpp"

namespace llmcalc {

std::unique_ptr<Model> build_llama(Fields& f) {
  TransformerSpec s = read_llama_like(f, "llama", {.sizing = HeadSize::divides});
  AttentionSpec& a = s.kinds.front().attention;
  a.qkv_bias = a.out_bias = f.flag("attention_bias", false);
  MlpSpec& m = s.kinds.front().mlp;
  m.up_bias = m.down_bias = f.flag("mlp_bias", false);
  return make_transformer(std::move(s));
}

std::unique_ptr<Model> build_mistral(Fields& f) {
  TransformerSpec s = read_llama_like(f, "mistral", {.inner = 14336, .max_seq = 131072, .kv_heads = 8});
  s.kinds.front().attention.window = f.optional_count("sliding_window", 4096);
  return make_transformer(std::move(s));
}

std::unique_ptr<Model> build_qwen2(Fields& f) {
  TransformerSpec s = read_llama_like(f, "qwen2", {.inner = 22016, .max_seq = 32768, .kv_heads = 32});
  s.kinds.front().attention.qkv_bias = true;
  read_qwen_windows(f, s);
  return make_transformer(std::move(s));
}

std::unique_ptr<Model> build_qwen3(Fields& f) {
  TransformerSpec s = read_llama_like(f, "qwen3", {.inner = 22016, .max_seq = 32768, .kv_heads = 32, .head_size = 128});
  AttentionSpec& a = s.kinds.front().attention;
  a.qkv_bias = a.out_bias = f.flag("attention_bias", false);
  a.qk_norm = QkNorm::per_head;
  read_qwen_windows(f, s);
  return make_transformer(std::move(s));
}

}  // namespace llmcalc
