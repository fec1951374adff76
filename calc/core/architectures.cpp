// Every architecture there is. A new one is a row here and a file in families/.
#include "core/families/families.hpp"

namespace llmcalc {

std::string_view name_of(Status status) {
  return status == Status::verified ? "verified" : status == Status::counted ? "counted" : "approximate";
}

// Of approximate architectures, for the scope of every estimate (docs/reference/architectures.md says the same).
constexpr const char* no_inputs_of_layers =
    "the trace: inputs that each layer has of its own (hidden_size_per_layer_input) are counted as parameters alone";
constexpr const char* no_compressed_keys =
    "the trace: compressed long-range keys (and their cache), the mixing of residual streams, hashed routing";

const std::vector<Architecture>& architectures() {
  static const std::vector<Architecture> all{
      {"gpt2", Status::verified, "learned positions, LayerNorm, biases, tied head", build_gpt2},
      {"gpt_bigcode", Status::verified, "gpt2 with one key/value head", build_gpt_bigcode},
      {"gpt_neo", Status::verified, "gpt2 with every second layer local", build_gpt_neo},
      {"llama", Status::verified, "rotary positions, RMSNorm, grouped heads, gated MLP", build_llama},
      {"mistral", Status::verified, "llama with a sliding window", build_mistral},
      {"qwen2", Status::verified, "llama with biases on q, k and v", build_qwen2},
      {"qwen3", Status::verified, "llama with norms on q and k", build_qwen3},
      {"gptj", Status::verified, "rotary positions, attention and MLP in parallel", build_gptj},
      {"gpt_neox", Status::verified, "Pythia: fused q/k/v, partial rotary positions, parallel", build_gpt_neox},
      {"opt", Status::verified, "learned positions, LayerNorm, biases", build_opt},
      {"bloom", Status::verified, "position biases (ALiBi), embedding norm", build_bloom},
      {"mpt", Status::verified, "position biases (ALiBi), no biases", build_mpt},
      {"falcon", Status::verified, "one or few key/value heads, parallel", build_falcon},
      {"phi", Status::verified, "partial rotary positions, parallel, biases", build_phi},
      {"phi3", Status::verified, "llama with fused projections", build_phi3},
      {"stablelm", Status::verified, "llama with LayerNorm and partial rotary positions", build_stablelm},
      {"starcoder2", Status::verified, "llama with LayerNorm, biases, ungated MLP", build_starcoder2},
      {"nemotron", Status::verified, "LayerNorm by 1 + weight, squared ReLU", build_nemotron},
      {"gemma", Status::verified, "norms by 1 + weight, scaled embeddings", build_gemma},
      {"gemma2", Status::verified, "gemma with local layers, soft-caps, norms on both sides", build_gemma2},
      {"gemma3_text", Status::verified, "gemma with local layers, norms on q and k", build_gemma3},
      {"olmo", Status::verified, "norms without weights", build_olmo},
      {"olmo2", Status::verified, "norms after attention and MLP, on whole q and k", build_olmo2},
      {"olmo3", Status::verified, "olmo2 with local layers", build_olmo3},
      {"cohere", Status::verified, "parallel behind one norm", build_cohere},
      {"cohere2", Status::verified, "cohere with local layers; global ones without positions", build_cohere2},
      {"granite", Status::verified, "llama with multipliers", build_granite},
      {"smollm3", Status::verified, "llama, every fourth layer without positions", build_smollm3},
      {"arcee", Status::verified, "llama with an ungated MLP, squared ReLU", build_arcee},
      {"apertus", Status::verified, "ungated MLP with xIELU, norms on q and k", build_apertus},
      {"seed_oss", Status::verified, "llama with biases on q, k, v and dropout", build_seed_oss},
      {"ernie4_5", Status::verified, "llama, neighbours rotated in float32", build_ernie4_5},
      {"glm", Status::verified, "fused gate and up, partial rotation of neighbours", build_glm},
      {"glm4", Status::verified, "glm with norms on both sides", build_glm4},
      {"mixtral", Status::verified, "mistral with experts", build_mixtral},
      {"olmoe", Status::verified, "llama with many small experts, norms on whole q and k", build_olmoe},
      {"qwen2_moe", Status::verified, "qwen2 with experts and a gated shared one", build_qwen2_moe},
      {"qwen3_moe", Status::verified, "qwen3 with experts", build_qwen3_moe},
      {"minimax_m2", Status::verified, "experts by sigmoid, norms on whole q and k", build_minimax_m2},
      {"gpt_oss", Status::verified, "experts with biases, attention sinks, local layers", build_gpt_oss},
      {"granitemoe", Status::verified, "granite with experts", build_granitemoe},
      {"phimoe", Status::verified, "experts by a sampler, LayerNorm", build_phimoe},
      {"ernie4_5_moe", Status::verified, "ernie4_5 with experts and shared ones", build_ernie4_5_moe},
      {"deepseek_v2", Status::verified, "latent attention, routed and shared experts", build_deepseek_v2},
      {"deepseek_v3", Status::verified, "latent attention, experts by sigmoid in groups", build_deepseek_v3},
      {"glm4_moe", Status::verified, "deepseek_v3's experts with ordinary attention", build_glm4_moe},
      {"dbrx", Status::counted, "experts everywhere, fused and clipped q/k/v", build_dbrx},
      {"llama4_text", Status::verified, "chunked attention, experts and a shared one", build_llama4},
      {"gemma4_text", Status::approximate, "global layers with heads of their own, experts beside the MLP",
       build_gemma4, no_inputs_of_layers},
      {"deepseek_v32", Status::verified, "deepseek_v3 with an index of the keys a query sees", build_deepseek_v32},
      {"glm_moe_dsa", Status::verified, "deepseek_v32 with other sizes", build_glm_moe_dsa},
      {"deepseek_v4", Status::approximate, "compressed long-range keys, several residual streams", build_deepseek_v4,
       no_compressed_keys},
      {"transformer", Status::counted, "a decoder written out in plain switches", build_plain},
      {"mamba", Status::counted, "state-space layers only, residual in float32", build_mamba},
      {"falcon_mamba", Status::counted, "mamba with norms without weights inside", build_falcon_mamba},
      {"mamba2", Status::counted, "state-space layers by heads and groups", build_mamba2},
      {"jamba", Status::counted, "mamba, some attention layers, experts", build_jamba},
      {"nemotron_h", Status::counted, "mamba2, attention, MLP or experts, one a layer", build_nemotron_h},
      {"recurrent_gemma", Status::counted, "gated linear recurrences and local attention", build_recurrent_gemma},
      {"qwen3_next", Status::counted, "gated delta rule, gated attention, experts", build_qwen3_next},
      {"qwen3_5_text", Status::counted, "qwen3_next without experts", build_qwen3_5},
      {"qwen3_5_moe_text", Status::counted, "qwen3_next with other projections", build_qwen3_5_moe},
      {"bert", Status::verified, "encoder, masked tokens, token types", build_bert},
      {"t5", Status::counted, "encoder and decoder, relative position biases", build_t5},
  };
  return all;
}

const Architecture* architecture_named(std::string_view name) {
  for (const Architecture& architecture : architectures())
    if (architecture.name == name) return &architecture;
  return nullptr;
}

}  // namespace llmcalc
