// Constants of the kernels, the same in every backend and in the checks of what they compute.
#pragma once

namespace llmcalc {

constexpr float scale_factor = 0.75F;  // scale and triad
constexpr float write_value = 0.5F;    // write, and what a stream fills with
// A chain of multiply-adds: x becomes factor * x + summand. Near enough to 1 that a missing link shows after hundreds.
constexpr float chain_factor = 0.999F, chain_summand = 1e-3F;
constexpr float adam_beta1 = 0.9F, adam_beta2 = 0.999F, adam_rate = 1e-3F, adam_epsilon = 1e-8F, adam_decay = 0.01F;
constexpr float norm_epsilon = 1e-6F;
// The state AdamW starts from when its step is checked.
constexpr float adam_first_parameter = 0.5F, adam_first_mean = 0.1F, adam_first_square = 0.01F;

}  // namespace llmcalc
