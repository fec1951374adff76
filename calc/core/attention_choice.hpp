// Which attention kernel runs: what PyTorch's dispatch would take, or whether one named outright can run at all.
#pragma once

#include <optional>
#include <string>

#include "core/device.hpp"
#include "core/model.hpp"
#include "core/precision.hpp"

namespace llmcalc {

std::string_view name_of(AttentionKernel kernel);
std::vector<std::string> attention_names();  // with "auto"

// Why `kernel` cannot run this attention; empty when it can. `masked`: a mask is handed to it.
std::string why_not(AttentionKernel kernel, const AttentionTraits& traits, DType operands, bool masked,
                    const std::optional<double>& compute_capability);

struct AttentionChoice {
  AttentionKernel kernel, masked_kernel;
  std::string why;  // in words, for `auto`
};

// Resolves `named` ("auto", "flash", ...) for all kinds of layers of a model. Without a device, capability 8.0 or newer
// is assumed. Throws Error(bad_input) with the reason when a kernel named outright cannot run.
AttentionChoice choose_attention(const std::string& named, const ModelInfo& model, const Job& job,
                                 const Precision& precision, const Device* device);

}  // namespace llmcalc
