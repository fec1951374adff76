#include "core/families/common.hpp"

#include <algorithm>
#include <numeric>

#include "core/suggest.hpp"

namespace llmcalc {

void check_heads(Fields& f, const KeyNames& heads_key, const KeyNames& kv_key, Count hidden, Count heads, Count kv_heads,
                 bool head_size_stands_apart) {
  if (!head_size_stands_apart && hidden % heads != 0)
    f.error(heads_key, std::to_string(heads) + " heads do not divide the hidden size " + std::to_string(hidden));
  if (heads % kv_heads != 0)
    f.error(kv_key, std::to_string(kv_heads) + " key/value heads do not divide " + std::to_string(heads) + " heads");
}

Activation read_activation(Fields& f, const KeyNames& key, std::string_view assumed) {
  const std::string name = f.text(key, assumed);
  const std::vector<std::string>& known = activation_names();
  if (std::find(known.begin(), known.end(), name) != known.end()) return activation_named(name);
  f.error(key, "unknown activation function '" + name + "'", did_you_mean(name, known));
  return Activation::silu;
}

std::vector<Count> all_layers(Count count) {
  std::vector<Count> layers(static_cast<std::size_t>(count));
  std::iota(layers.begin(), layers.end(), 0);
  return layers;
}

}  // namespace llmcalc
