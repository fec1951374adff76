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

}  // namespace llmcalc
