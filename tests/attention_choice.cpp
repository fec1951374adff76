// Which attention kernel runs: the conditions of PyTorch's dispatch (ATen/native/transformers/cuda/sdp_utils.cpp), one
// by one.
#include "core/attention_choice.hpp"

#include <optional>
#include <string>
#include <vector>

#include "tests/catch.hpp"
#include "tests/support/estimates.hpp"
#include "tests/support/jobs.hpp"
#include "tests/support/refusal.hpp"

using namespace llmcalc;
using namespace llmcalc::test;
using Catch::Matchers::ContainsSubstring;

namespace {

AttentionTraits heads_of(Count qk, Count v) {
  AttentionTraits traits;
  traits.layers = traits.heads = traits.kv_heads = 1;
  traits.qk_size = qk;
  traits.v_size = v;
  return traits;
}

AttentionChoice chosen(const std::vector<AttentionTraits>& attention, const char* precision,
                       std::optional<double> capability = {}, Count seq = 128) {
  ModelInfo info;
  info.attention = attention;
  Job job;
  job.batch = 1;
  job.seq = seq;
  Device device;
  device.compute_capability = capability;
  return choose_attention("auto", info, job, *precision_named(precision), &device);
}

}  // namespace

TEST_CASE("a kernel says why it cannot run") {
  using Kernel = AttentionKernel;
  struct Row {
    Kernel kernel;
    Count qk, v;
    DType operands;
    bool masked;
    std::optional<double> capability;
    const char* why;  // "": it can
  };
  constexpr DType half = DType::bfloat16, full = DType::float32;
  const Row rows[] = {
      {Kernel::eager, 7, 9, full, true, 3.0, ""},
      {Kernel::math, 7, 9, full, true, 3.0, ""},
      {Kernel::flash, 128, 128, half, false, 8.0, ""},
      {Kernel::flash, 128, 128, half, false, {}, ""},
      {Kernel::flash, 128, 128, full, false, 8.0, "wants 16-bit operands, not float32"},
      {Kernel::flash, 128, 128, half, true, 8.0, "takes no mask"},
      {Kernel::flash, 192, 128, half, false, 8.0, "wants q, k and v heads of one size, not 192 and 128"},
      {Kernel::flash, 264, 264, half, false, 8.0, "takes heads of at most 256, not 264"},
      {Kernel::flash, 128, 128, half, false, 7.5, "needs compute capability 8.0 or newer"},
      {Kernel::efficient, 192, 128, half, true, 5.0, ""},
      {Kernel::efficient, 12, 12, full, true, 8.0, ""},
      {Kernel::efficient, 12, 12, half, false, 8.0, "wants heads that are multiples of 8, not 12"},
      {Kernel::efficient, 16, 12, half, false, 8.0, "wants heads that are multiples of 8, not 16 and 12"},
      {Kernel::efficient, 6, 6, full, false, 8.0, "wants heads that are multiples of 4, not 6"},
      {Kernel::efficient, 64, 64, half, false, 3.7, "needs compute capability 5.0 or newer"},
      {Kernel::cudnn, 192, 128, half, true, 9.0, ""},
      {Kernel::cudnn, 128, 128, full, false, 9.0, "wants 16-bit operands, not float32"},
      {Kernel::cudnn, 124, 124, half, false, 9.0, "wants heads that are multiples of 8, not 124"},
      {Kernel::cudnn, 512, 128, half, false, 9.0, "takes heads of at most 256, not 512 and 128"},
      {Kernel::cudnn, 128, 512, half, false, 9.0, "takes heads of at most 256, not 128 and 512"},
      {Kernel::cudnn, 128, 128, half, false, 7.5, "needs compute capability 8.0 or newer"},
  };
  for (const Row& row : rows) {
    INFO(name_of(row.kernel) << " " << row.qk << " " << row.v << " " << row.why);
    const std::string why = why_not(row.kernel, heads_of(row.qk, row.v), row.operands, row.masked, row.capability);
    CHECK(why.empty() == std::string(row.why).empty());
    CHECK_THAT(why, ContainsSubstring(row.why));
  }
  AttentionTraits capped = heads_of(128, 128);
  capped.why_not_fused = "its scores are soft-capped";
  CHECK(why_not(Kernel::efficient, capped, half, false, 9.0) == "its scores are soft-capped");
  CHECK(why_not(Kernel::eager, capped, half, false, 9.0).empty());
}

TEST_CASE("auto takes the first kernel that runs every layer") {
  AttentionTraits windowed = heads_of(128, 128), odd_windowed = heads_of(12, 12);
  windowed.window = odd_windowed.window = 64;
  CHECK(chosen({}, "bf16").why == "the model has no attention");
  CHECK(chosen({heads_of(128, 128)}, "bf16").kernel == AttentionKernel::flash);
  CHECK(chosen({heads_of(128, 128)}, "fp32").kernel == AttentionKernel::efficient);
  CHECK(chosen({heads_of(128, 128)}, "bf16", 7.5).kernel == AttentionKernel::efficient);
  CHECK(chosen({heads_of(128, 128)}, "bf16", 3.7).kernel == AttentionKernel::eager);
  CHECK_THAT(chosen({heads_of(128, 128)}, "bf16", 3.7).why, ContainsSubstring("capability 5.0"));
  // A window shorter than the sequence needs a mask, which flash does not take.
  const AttentionChoice both = chosen({heads_of(128, 128), windowed}, "bf16");
  CHECK(both.kernel == AttentionKernel::flash);
  CHECK(both.masked_kernel == AttentionKernel::efficient);
  CHECK(both.why == "flash; efficient where a window needs a mask");
  CHECK(chosen({windowed}, "bf16").kernel == AttentionKernel::efficient);
  CHECK_THAT(chosen({windowed}, "bf16").why, ContainsSubstring("takes no mask"));
  CHECK(chosen({windowed}, "bf16", {}, 63).kernel == AttentionKernel::flash);
  // Heads of 12 that have a mask: neither flash nor efficient; without one flash alone does.
  CHECK(chosen({heads_of(12, 12)}, "bf16").kernel == AttentionKernel::flash);
  const AttentionChoice neither = chosen({heads_of(12, 12), odd_windowed}, "bf16");
  CHECK(neither.kernel == AttentionKernel::eager);
  CHECK_THAT(neither.why, ContainsSubstring("multiples of 8, not 12"));
  CHECK(chosen({odd_windowed}, "bf16").kernel == AttentionKernel::eager);
}

TEST_CASE("a kernel named outright that cannot run is refused with its reason") {
  const auto refused = [](const char* model, const char* attention, const char* precision) {
    return refusal(
        [&] { estimated(built_in_model(model), {{"attention", attention}, {"precision", precision}, {"seq", "8"}}); });
  };
  CHECK(refused("gpt2", "cudnn", "bf16") == "accepted");
  CHECK_THAT(refused("gpt2", "cudnn", "fp32"),
             ContainsSubstring("--attention cudnn cannot run this model: cuDNN attention wants 16-bit operands") &&
                 ContainsSubstring("--attention auto"));
  CHECK_THAT(refused("gemma-2-2b", "efficient", "bf16"), ContainsSubstring("its scores are soft-capped"));
  CHECK(refused("gemma-2-2b", "eager", "bf16") == "accepted");
}
