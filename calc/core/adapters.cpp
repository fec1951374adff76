#include "core/adapters.hpp"

#include <algorithm>

#include "core/diagnostics.hpp"
#include "core/quantity.hpp"
#include "core/suggest.hpp"

namespace llmcalc {
namespace {

constexpr Count nf4_block = 64;     // weights that share a maximum
constexpr Count scale_block = 256;  // maxima that share a float32 scale

std::vector<std::string> pieces_of(const std::string& text, char separator) {
  std::vector<std::string> pieces{""};
  for (const char c : text) {
    if (c == separator)
      pieces.emplace_back();
    else
      pieces.back() += c;
  }
  return pieces;
}

[[noreturn]] void refuse(const std::string& option, const std::string& what) {
  throw Error(Exit::bad_input, "--" + option + ": " + what, "for example r=16,targets=all-linear or r=8,targets=q,v");
}

constexpr std::string_view weight_end = ".weight";

// "self_attn.q_proj" of "self_attn.q_proj.weight".
std::string module_of(const Parameter& p) { return p.name.substr(0, p.name.size() - weight_end.size()); }
std::string last_name(const std::string& module) { return module.substr(module.rfind('.') + 1); }

// A linear of a layer; routers are no linears, and experts stacked in one tensor have more than two axes.
bool is_linear(const Parameter& p) {
  const bool weight = p.role == Role::weight || p.role == Role::routed_expert;
  if (p.layer_kind < 0 || !weight || p.shape.rank() != 2 || !p.name.ends_with(weight_end)) return false;
  const std::string module = module_of(p);
  return !module.ends_with("mlp.gate") && module.find("router") == std::string::npos;
}

bool names(const std::string& target, const std::string& module) {
  const std::string last = last_name(module);
  return last == target || last == target + "_proj" || module == target;
}

// Features that a linear gives: some are stored as (in, out), and those have a bias that tells.
Count features_out(const Parameters& all, const Parameter& weight) {
  const std::string bias = module_of(weight) + ".bias";
  for (const Parameter& p : all.all())
    if (p.layer_kind == weight.layer_kind && p.name == bias) return p.shape[0];
  return weight.shape[0];
}

bool is_target(const LoraOptions& lora, const Parameter& p) {
  if (!is_linear(p)) return false;
  return lora.targets.empty() || std::any_of(lora.targets.begin(), lora.targets.end(),
                                             [&](const std::string& target) { return names(target, module_of(p)); });
}

void check_targets(const Parameters& parameters, const LoraOptions& lora) {
  std::vector<std::string> known;
  for (const Parameter& p : parameters.all())
    if (const std::string name = is_linear(p) ? last_name(module_of(p)) : "";
        !name.empty() && std::find(known.begin(), known.end(), name) == known.end())
      known.push_back(name);
  for (const std::string& target : lora.targets) {
    const bool found = std::any_of(parameters.all().begin(), parameters.all().end(),
                                   [&](const Parameter& p) { return is_linear(p) && names(target, module_of(p)); });
    if (!found)
      throw Error(Exit::bad_input, "--" + lora.option + ": no linear of this model is called " + in_quotes(target),
                  "it has " + join(known));
  }
}

// "input_layernorm", "LayerNorm", "ln_1", "norm_f".
bool is_norm(const Parameter& p) {
  return p.name.find("norm") != std::string::npos || p.name.find("Norm") != std::string::npos ||
         p.name.find("ln_") != std::string::npos;
}

bool belongs_to(const std::string& part, const Parameter& p) {
  if (part == "embedding") return p.role == Role::embedding;
  if (part == "positions") return p.role == Role::positions;
  if (part == "head") return p.role == Role::head;
  if (part == "layers") return p.layer_kind >= 0;
  if (part == "norms") return is_norm(p);
  if (part == "attention") return p.half == Half::attention;
  if (part == "mlp") return p.half == Half::mlp;
  return p.name.find(part) != std::string::npos;
}

}  // namespace

LoraOptions read_lora(const std::string& option, const std::string& text) {
  LoraOptions lora;
  lora.option = option;
  std::string key;
  for (const std::string& piece : pieces_of(text, ',')) {
    const std::size_t equals = piece.find('=');
    if (equals != std::string::npos || piece == "dora") key = piece.substr(0, equals);
    const std::string value = equals == std::string::npos ? piece : piece.substr(equals + 1);
    if (key == "r" || key == "rank") {
      const Parsed<Count> rank = parse_count(value);
      if (!rank || *rank < 1 || equals == std::string::npos)
        refuse(option, "the rank must be a whole number of at least 1");
      lora.rank = *rank;
    } else if (key == "dropout") {
      const Parsed<double> rate = parse_number(value);
      if (!rate || *rate < 0 || *rate >= 1) refuse(option, "dropout must be at least 0 and below 1");
      lora.dropout = *rate;
    } else if (key == "targets") {
      if (value.empty()) refuse(option, "a target is missing");
      if (value != "all-linear") lora.targets.push_back(value);
    } else if (piece == "dora") {
      lora.dora = true;
    } else {
      refuse(option, "known are r, targets, dropout and dora, not " + in_quotes(key.empty() ? piece : key));
    }
  }
  if (lora.rank == 0) refuse(option, "r, the rank, is missing");
  return lora;
}

Bytes packed_4bit(Count n) {
  const Count blocks = ceil_div(n, nf4_block);
  return Bytes(ceil_div(n, 2) + blocks) + size_of(DType::float32) * ceil_div(blocks, scale_block);
}

Adapted with_adapters(const Parameters& base, const LoraOptions& lora, bool quantised, const Precision& precision) {
  check_targets(base, lora);
  Adapted adapted{base, {}};
  Parameters& all = adapted.parameters;
  const auto count = static_cast<ParameterId>(base.all().size());
  adapted.adapters.resize(base.all().size());
  // A frozen base is loaded in the dtype that products run in; only what is trained needs more.
  const DType computes = precision.autocast.value_or(precision.weight);
  for (ParameterId id = 0; id < count; ++id) {
    Parameter& p = all[id];
    p.trainable = false;
    if (precision.autocast && !p.always_float32) p.stored = computes;
    p.quantised = quantised && is_linear(p);
    AdapterLeaf& adapter = adapted.adapters[static_cast<std::size_t>(id)];
    if (p.quantised) adapter.computes = computes;
    if (!is_target(lora, p)) continue;
    const Parameter target = p;  // adding may move it
    const auto add = [&](const std::string& name, Dims shape) {
      const ParameterId added = all.add(module_of(target) + name, shape);
      all[added].layer_kind = target.layer_kind;
      all[added].copies = target.copies;
      return added;
    };
    adapter.a = add(".lora_A.weight", {lora.rank, target.shape[1]});
    adapter.b = add(".lora_B.weight", {target.shape[0], lora.rank});
    if (lora.dora) adapter.magnitude = add(".lora_magnitude_vector.weight", {features_out(base, target)});
    adapter.dropout = lora.dropout;
  }
  return adapted;
}

void freeze(Parameters& parameters, const std::vector<std::string>& parts) {
  for (const std::string& part : parts) {
    bool found = false;
    for (ParameterId id = 0; id < static_cast<ParameterId>(parameters.all().size()); ++id) {
      Parameter& p = parameters[id];
      if (!belongs_to(part, p)) continue;
      p.trainable = false;
      found = true;
    }
    if (part == "head" && parameters.head_is_tied)
      throw Error(Exit::bad_input, "--freeze head: this model's head is its embedding",
                  "--freeze embedding freezes both");
    if (!found)
      throw Error(Exit::bad_input, "--freeze: no parameter of this model is called " + in_quotes(part),
                  "embedding, positions, head, norms, attention, mlp, layers, or a piece of a name that llmcalc params "
                  "--tensors lists");
  }
}

}  // namespace llmcalc
