// The switches of a mixture of experts.
#pragma once

#include <optional>
#include <string>

#include "core/transformer/spec.hpp"

namespace llmcalc {

struct ExpertsSpec {
  std::string name = "mlp";
  std::string router_name = "gate", experts_name = "experts";
  Count experts = 0, per_token = 0, inner = 0;
  Activation activation = Activation::silu;
};

}  // namespace llmcalc
