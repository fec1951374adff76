#include "core/attention_choice.hpp"

#include <algorithm>
#include <array>

#include "core/blocks/attention.hpp"
#include "core/suggest.hpp"

namespace llmcalc {
namespace {

struct Row {
  AttentionKernel kernel;
  std::string_view name;
};
constexpr std::array<Row, 5> table{{{AttentionKernel::eager, "eager"},
                                    {AttentionKernel::flash, "flash"},
                                    {AttentionKernel::efficient, "efficient"},
                                    {AttentionKernel::cudnn, "cudnn"},
                                    {AttentionKernel::math, "math"}}};

// Limits of PyTorch 2.15's kernels (aten/src/ATen/native/transformers/cuda/sdp_utils.cpp).
constexpr double flash_capability = 8.0;
constexpr double efficient_capability = 5.0;
constexpr Count flash_head_limit = 256;
constexpr Count cudnn_head_limit = 256;
constexpr Count sixteen_bit_alignment = 8;  // elements in 16 bytes
constexpr Count float32_alignment = 4;

bool any_masked(const ModelInfo& model, const Job& job) {
  return std::any_of(model.attention.begin(), model.attention.end(),
                     [&](const AttentionTraits& traits) { return needs_mask(job, traits); });
}

}  // namespace

std::string_view name_of(AttentionKernel kernel) { return table[static_cast<std::size_t>(kernel)].name; }

std::vector<std::string> attention_names() {
  std::vector<std::string> names{"auto"};
  for (const Row& row : table) names.emplace_back(row.name);
  return names;
}

std::string why_not(AttentionKernel kernel, const AttentionTraits& traits, DType operands, bool masked,
                    const std::optional<double>& compute_capability) {
  if (kernel == AttentionKernel::eager) return {};
  if (!traits.why_not_fused.empty()) return traits.why_not_fused;
  const bool sixteen_bit = size_of(operands) == Bytes(2);
  const std::string sizes =
      std::to_string(traits.qk_size) + (traits.qk_size == traits.v_size ? "" : " and " + std::to_string(traits.v_size));
  const Count alignment = sixteen_bit ? sixteen_bit_alignment : float32_alignment;
  const bool aligned = traits.qk_size % alignment == 0 && traits.v_size % alignment == 0;
  switch (kernel) {
    case AttentionKernel::flash:
      if (!sixteen_bit) return "flash attention wants 16-bit operands, not " + std::string(name_of(operands));
      if (masked)
        return "flash attention takes no mask, and a window no longer than the sequence, or packing, needs one";
      if (traits.qk_size != traits.v_size) return "flash attention wants q, k and v heads of one size, not " + sizes;
      if (traits.qk_size > flash_head_limit) return "flash attention takes heads of at most 256, not " + sizes;
      if (compute_capability && *compute_capability < flash_capability)
        return "flash attention needs compute capability 8.0 or newer";
      return {};
    case AttentionKernel::efficient:
      if (!aligned)
        return "memory-efficient attention wants heads that are multiples of " + std::to_string(alignment) + ", not " +
               sizes;
      if (compute_capability && *compute_capability < efficient_capability)
        return "memory-efficient attention needs compute capability 5.0 or newer";
      return {};
    case AttentionKernel::cudnn:
      if (!sixteen_bit) return "cuDNN attention wants 16-bit operands, not " + std::string(name_of(operands));
      if (!aligned) return "cuDNN attention wants heads that are multiples of 8, not " + sizes;
      if (traits.qk_size > cudnn_head_limit || traits.v_size > cudnn_head_limit)
        return "cuDNN attention takes heads of at most 256, not " + sizes;
      if (compute_capability && *compute_capability < flash_capability)
        return "cuDNN attention needs compute capability 8.0 or newer";
      return {};
    case AttentionKernel::eager:
    case AttentionKernel::math: return {};
  }
  return {};
}

AttentionChoice choose_attention(const std::string& named, const ModelInfo& model, const Job& job,
                                 const Precision& precision, const Device* device) {
  const std::optional<double> capability = device ? device->compute_capability : std::nullopt;
  const DType operands = precision.autocast.value_or(precision.weight);
  // Why the kernel cannot run all layers that have (or have not) a mask.
  const auto reason = [&](AttentionKernel kernel, bool masked) {
    for (const AttentionTraits& traits : model.attention) {
      if (needs_mask(job, traits) != masked) continue;
      const std::string why = why_not(kernel, traits, operands, masked, capability);
      if (!why.empty()) return why;
    }
    return std::string();
  };
  if (named != "auto") {
    const auto row = std::find_if(table.begin(), table.end(), [&](const Row& r) { return r.name == named; });
    if (row == table.end())
      throw Error(Exit::bad_input, "unknown attention " + in_quotes(named), did_you_mean(named, attention_names()));
    for (const bool masked : {false, true}) {
      const std::string why = reason(row->kernel, masked);
      if (!why.empty())
        throw Error(Exit::bad_input, "--attention " + named + " cannot run this model: " + why,
                    "--attention auto takes a kernel that can");
    }
    return {row->kernel, row->kernel, "as asked"};
  }
  if (model.attention.empty()) return {AttentionKernel::eager, AttentionKernel::eager, "the model has no attention"};
  const std::string no_flash = reason(AttentionKernel::flash, false);
  const bool all_masked = std::all_of(model.attention.begin(), model.attention.end(),
                                      [&](const AttentionTraits& traits) { return needs_mask(job, traits); });
  const bool efficient_masked = reason(AttentionKernel::efficient, true).empty();
  if (no_flash.empty() && !all_masked && (efficient_masked || !any_masked(model, job)))
    return {AttentionKernel::flash, AttentionKernel::efficient,
            any_masked(model, job) ? "flash; efficient where a window needs a mask" : "16-bit operands, no mask"};
  const std::string why_no_flash = no_flash.empty() ? reason(AttentionKernel::flash, true) : no_flash;
  if (reason(AttentionKernel::efficient, false).empty() && efficient_masked)
    return {AttentionKernel::efficient, AttentionKernel::efficient, why_no_flash};
  const std::string no_efficient = reason(AttentionKernel::efficient, false);
  return {AttentionKernel::eager, AttentionKernel::eager,
          no_efficient.empty() ? reason(AttentionKernel::efficient, true) : no_efficient};
}

}  // namespace llmcalc
