#include "core/precision.hpp"

namespace llmcalc {

const std::vector<Precision>& precisions() {
  constexpr DType f32 = DType::float32, bf16 = DType::bfloat16, f16 = DType::float16;
  static const std::vector<Precision> all{
      {"fp32", "float32 throughout: 16 B per parameter with AdamW", f32, f32, {}, {}, f32},
      {"tf32", "float32 storage, matrix products in tf32", f32, f32, {}, {}, f32, true},
      {"amp-bf16", "float32 weights and states, torch.autocast to bfloat16", f32, f32, {}, bf16, bf16},
      {"amp-fp16", "float32 weights and states, torch.autocast to float16", f32, f32, {}, f16, f16},
      {"bf16", "bfloat16 throughout, states too: 8 B per parameter with AdamW", bf16, bf16, {}, {}, bf16},
      {"bf16-master",
       "bfloat16 weights and gradients, float32 master and states: 16 B with AdamW",
       bf16,
       bf16,
       f32,
       {},
       bf16},
      {"bf16-master-fp32-grads",
       "the same with a float32 gradient buffer (Megatron): 18 B with AdamW",
       bf16,
       f32,
       f32,
       {},
       bf16,
       false,
       true},
      {"fp16-master",
       "float16 weights and gradients, float32 master and states: 16 B with AdamW",
       f16,
       f16,
       f32,
       {},
       f16},
  };
  return all;
}

const Precision* precision_named(std::string_view name) {
  for (const Precision& precision : precisions())
    if (precision.name == name) return &precision;
  return nullptr;
}

std::vector<std::string> precision_names() {
  std::vector<std::string> names;
  for (const Precision& precision : precisions()) names.emplace_back(precision.name);
  return names;
}

std::string_view Precision::peak_key() const {
  if (tf32) return "tf32";
  return compute == DType::bfloat16 ? "bf16" : compute == DType::float16 ? "fp16" : "fp32";
}

}  // namespace llmcalc
