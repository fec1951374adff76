#include "core/parameters.hpp"

#include <utility>

namespace llmcalc {

int Parameters::begin_layers(std::string name, std::string prefix, std::vector<Count> layers) {
  LayerKind kind;
  kind.name = std::move(name);
  kind.prefix = std::move(prefix);
  kind.layers = std::move(layers);
  kinds_.push_back(std::move(kind));
  return kind_ = static_cast<int>(kinds_.size()) - 1;
}

ParameterId Parameters::add(std::string name, Dims shape, Role role) {
  Parameter parameter;
  parameter.name = std::move(name);
  parameter.shape = shape;
  parameter.role = role;
  parameter.layer_kind = kind_;
  parameter.half = half_;
  all_.push_back(std::move(parameter));
  return static_cast<ParameterId>(all_.size()) - 1;
}

Count Parameters::instances(const Parameter& parameter) const {
  if (parameter.layer_kind < 0) return 1;
  return static_cast<Count>(kinds_[static_cast<std::size_t>(parameter.layer_kind)].layers.size());
}

Count Parameters::tensors(const Parameter& parameter) const {
  return checked::multiply(parameter.copies, instances(parameter));
}

std::string Parameters::whole_name(const Parameter& parameter) const {
  if (parameter.layer_kind < 0) return parameter.name;
  return kinds_[static_cast<std::size_t>(parameter.layer_kind)].prefix + "*." + parameter.name;
}

LinearWeights add_linear(Parameters& p, const std::string& name, Count in, Count out, bool bias, Role role) {
  LinearWeights linear;
  linear.weight = p.add(name + ".weight", {out, in}, role);
  if (bias) linear.bias = p.add(name + ".bias", {out});
  return linear;
}

ParameterCounts count_parameters(const Parameters& parameters) {
  ParameterCounts counts;
  Count idle_experts = 0;
  for (const Parameter& p : parameters.all()) {
    const Count n = checked::multiply(p.elements(), parameters.instances(p));
    counts.total = checked::add(counts.total, n);
    if (p.trainable) counts.trainable += n;
    if (p.predicts) counts.prediction += n;
    if (p.role == Role::embedding) counts.embedding += n;
    if (p.role == Role::positions) counts.positions += n;
    if (p.role == Role::head) counts.head += n;
    if (p.role == Role::routed_expert) {
      const LayerKind& kind = parameters.kinds()[static_cast<std::size_t>(p.layer_kind)];
      idle_experts += n / kind.experts * (kind.experts - kind.experts_per_token);
    }
  }
  counts.tied = parameters.head_is_tied;
  counts.active = counts.total - idle_experts;
  counts.compute = counts.active - counts.positions - (counts.tied ? 0 : counts.embedding);
  if (counts.tied) counts.head = counts.embedding;
  return counts;
}

Count layer_elements(const Parameters& parameters, int kind) {
  Count sum = 0;
  for (const Parameter& p : parameters.all())
    if (p.layer_kind == kind) sum = checked::add(sum, p.elements());
  return sum;
}

}  // namespace llmcalc
