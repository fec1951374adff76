// Every architecture there is. A new one is a row here and a file in families/.
#include "core/families/families.hpp"

namespace llmcalc {

std::string_view name_of(Status status) {
  return status == Status::verified ? "verified" : status == Status::counted ? "counted" : "approximate";
}

const std::vector<Architecture>& architectures() {
  static const std::vector<Architecture> all{
      {"gpt2", Status::verified, "learned positions, LayerNorm, biases, tied head", build_gpt2},
      {"gpt_bigcode", Status::counted, "gpt2 with one key/value head", build_gpt_bigcode},
      {"gpt_neo", Status::counted, "gpt2 with every second layer local", build_gpt_neo},
      {"llama", Status::verified, "rotary positions, RMSNorm, grouped heads, gated MLP", build_llama},
      {"mistral", Status::verified, "llama with a sliding window", build_mistral},
      {"qwen2", Status::verified, "llama with biases on q, k and v", build_qwen2},
      {"qwen3", Status::verified, "llama with norms on q and k", build_qwen3},
  };
  return all;
}

const Architecture* architecture_named(std::string_view name) {
  for (const Architecture& architecture : architectures())
    if (architecture.name == name) return &architecture;
  return nullptr;
}

}  // namespace llmcalc
