// The builder of each family, for the table in architectures.cpp.
#pragma once

#include <memory>

#include "core/model.hpp"

namespace llmcalc {

std::unique_ptr<Model> build_gpt2(Fields& fields);
std::unique_ptr<Model> build_gpt_bigcode(Fields& fields);
std::unique_ptr<Model> build_gpt_neo(Fields& fields);
std::unique_ptr<Model> build_llama(Fields& fields);
std::unique_ptr<Model> build_mistral(Fields& fields);
std::unique_ptr<Model> build_qwen2(Fields& fields);
std::unique_ptr<Model> build_qwen3(Fields& fields);
std::unique_ptr<Model> build_gptj(Fields& fields);
std::unique_ptr<Model> build_gpt_neox(Fields& fields);
std::unique_ptr<Model> build_opt(Fields& fields);
std::unique_ptr<Model> build_bloom(Fields& fields);
std::unique_ptr<Model> build_mpt(Fields& fields);
std::unique_ptr<Model> build_falcon(Fields& fields);
std::unique_ptr<Model> build_phi(Fields& fields);
std::unique_ptr<Model> build_phi3(Fields& fields);
std::unique_ptr<Model> build_stablelm(Fields& fields);
std::unique_ptr<Model> build_starcoder2(Fields& fields);
std::unique_ptr<Model> build_nemotron(Fields& fields);
std::unique_ptr<Model> build_gemma(Fields& fields);
std::unique_ptr<Model> build_gemma2(Fields& fields);
std::unique_ptr<Model> build_gemma3(Fields& fields);
std::unique_ptr<Model> build_olmo(Fields& fields);
std::unique_ptr<Model> build_olmo2(Fields& fields);
std::unique_ptr<Model> build_olmo3(Fields& fields);
std::unique_ptr<Model> build_cohere(Fields& fields);
std::unique_ptr<Model> build_cohere2(Fields& fields);
std::unique_ptr<Model> build_granite(Fields& fields);
std::unique_ptr<Model> build_smollm3(Fields& fields);
std::unique_ptr<Model> build_arcee(Fields& fields);
std::unique_ptr<Model> build_apertus(Fields& fields);
std::unique_ptr<Model> build_seed_oss(Fields& fields);
std::unique_ptr<Model> build_ernie4_5(Fields& fields);
std::unique_ptr<Model> build_glm(Fields& fields);
std::unique_ptr<Model> build_glm4(Fields& fields);
std::unique_ptr<Model> build_mixtral(Fields& fields);
std::unique_ptr<Model> build_olmoe(Fields& fields);
std::unique_ptr<Model> build_qwen2_moe(Fields& fields);
std::unique_ptr<Model> build_qwen3_moe(Fields& fields);
std::unique_ptr<Model> build_minimax_m2(Fields& fields);
std::unique_ptr<Model> build_gpt_oss(Fields& fields);
std::unique_ptr<Model> build_granitemoe(Fields& fields);
std::unique_ptr<Model> build_phimoe(Fields& fields);
std::unique_ptr<Model> build_ernie4_5_moe(Fields& fields);
std::unique_ptr<Model> build_deepseek_v2(Fields& fields);
std::unique_ptr<Model> build_deepseek_v3(Fields& fields);
std::unique_ptr<Model> build_glm4_moe(Fields& fields);
std::unique_ptr<Model> build_dbrx(Fields& fields);
std::unique_ptr<Model> build_llama4(Fields& fields);
std::unique_ptr<Model> build_gemma4(Fields& fields);
std::unique_ptr<Model> build_deepseek_v32(Fields& fields);
std::unique_ptr<Model> build_glm_moe_dsa(Fields& fields);
std::unique_ptr<Model> build_deepseek_v4(Fields& fields);
std::unique_ptr<Model> build_plain(Fields& fields);  // architecture: transformer
std::unique_ptr<Model> build_mamba(Fields& fields);
std::unique_ptr<Model> build_falcon_mamba(Fields& fields);
std::unique_ptr<Model> build_mamba2(Fields& fields);
std::unique_ptr<Model> build_jamba(Fields& fields);
std::unique_ptr<Model> build_nemotron_h(Fields& fields);
std::unique_ptr<Model> build_recurrent_gemma(Fields& fields);
std::unique_ptr<Model> build_qwen3_next(Fields& fields);
std::unique_ptr<Model> build_qwen3_5(Fields& fields);
std::unique_ptr<Model> build_qwen3_5_moe(Fields& fields);
std::unique_ptr<Model> build_bert(Fields& fields);
std::unique_ptr<Model> build_t5(Fields& fields);

}  // namespace llmcalc
