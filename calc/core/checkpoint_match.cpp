#include "core/checkpoint_match.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "core/checkpoint_names.hpp"

namespace llmcalc {
namespace {

// The dimensions in order of size, without those of 1: GGUF's converters turn and squeeze some tensors.
Dims sorted(const Dims& shape) {
  Dims out;
  for (const Count length : shape)
    if (length != 1) out.push_back(length);
  std::vector<Count> lengths(out.begin(), out.end());
  std::sort(lengths.begin(), lengths.end());
  for (std::size_t i = 0; i < lengths.size(); ++i) out[static_cast<int>(i)] = lengths[i];
  return out;
}

class Matcher {
 public:
  Matcher(const Parameters& parameters, const Checkpoint& checkpoint, std::optional<DType> dtype)
      : parameters_(parameters), checkpoint_(checkpoint), gguf_(checkpoint.format == "GGUF") {
    match_.dtype = dtype;
    used_.resize(checkpoint.tensors.size());
    by_name_.reserve(checkpoint.tensors.size());
    for (std::size_t i = 0; i < checkpoint.tensors.size(); ++i)
      by_name_.emplace(bare_name(checkpoint.tensors[i].name), i);
  }

  CheckpointMatch take() {
    for (const Parameter& parameter : parameters_.all()) look_for_all(parameter);
    for (std::size_t i = 0; i < used_.size(); ++i)
      if (!used_[i]) judge(checkpoint_.tensors[i]);
    // Fewer than half found by name: the names are no help, and lists of them would be none either.
    match_.by_name = 2 * names_found_ >= match_.counted_tensors || !checkpoint_.complete;
    for (auto& [key, found] : groups_) match_.found.push_back(std::move(found));
    if (!match_.by_name) {
      const auto by_name = [](const FoundTensors& f) { return f.finding < Finding::tied_head; };
      match_.found.erase(std::remove_if(match_.found.begin(), match_.found.end(), by_name), match_.found.end());
    }
    return std::move(match_);
  }

 private:
  using Key = std::tuple<Finding, std::string, std::vector<Count>, std::vector<Count>, std::string_view>;

  static std::vector<Count> list(const std::optional<Dims>& dims) {
    return dims ? std::vector<Count>(dims->begin(), dims->end()) : std::vector<Count>{};
  }

  void add(Finding finding, std::string_view name, std::optional<Dims> counted, const StoredTensor* stored) {
    FoundTensors one;
    one.finding = finding;
    one.name = without_numbers(name);
    one.counted = counted;
    if (stored) {
      one.stored = stored->shape;
      one.type = stored->type->name;
    }
    FoundTensors& all =
        groups_.try_emplace({finding, one.name, list(one.counted), list(one.stored), one.type}, one).first->second;
    ++all.tensors;
    if (stored) all.bytes += stored->bytes;
  }

  void look_for_all(const Parameter& parameter) {
    if (parameter.layer_kind < 0) {
      look_for(parameter, parameter.name);
      return;
    }
    const LayerKind& kind = parameters_.kinds()[static_cast<std::size_t>(parameter.layer_kind)];
    for (const Count layer : kind.layers) {
      layers_ = std::max(layers_, layer + 1);
      look_for(parameter, kind.prefix + std::to_string(layer) + "." + parameter.name);
    }
  }

  // The tensors that hold a parameter when it is stored this way; none where one of them is not there.
  std::vector<const StoredTensor*> stored_as(const StoredAs& way, Count experts) {
    std::vector<std::size_t> places;
    for (const std::string& name : way.names) {
      const std::size_t star = name.find('*');
      const Count copies = star == std::string::npos ? 1 : experts;
      for (Count i = 0; i < copies; ++i) {
        const auto found = by_name_.find(
            star == std::string::npos ? name : name.substr(0, star) + std::to_string(i) + name.substr(star + 1));
        if (found == by_name_.end() || used_[found->second]) return {};
        places.push_back(found->second);
      }
    }
    std::vector<const StoredTensor*> tensors;
    for (const std::size_t place : places) {
      used_[place] = true;
      tensors.push_back(&checkpoint_.tensors[place]);
    }
    return tensors;
  }

  void look_for(const Parameter& parameter, const std::string& name) {
    ++match_.counted_tensors;
    const Count counted = parameter.elements();
    match_.counted_parameters = checked::add(match_.counted_parameters, counted);
    const std::string bare = bare_name(name);
    const Count experts = parameter.shape.rank() == 3 ? parameter.shape[0] : 0;
    for (const StoredAs& way : gguf_ ? gguf_names(bare) : safetensors_names(bare)) {
      const std::vector<const StoredTensor*> stored = stored_as(way, experts);
      if (stored.empty()) continue;
      ++names_found_;
      compare(parameter, name, way.packed, stored);
      return;
    }
    if (checkpoint_.complete) add(Finding::missing, name, parameter.shape, nullptr);
  }

  void compare(const Parameter& parameter, const std::string& name, bool packed,
               const std::vector<const StoredTensor*>& stored) {
    const StoredTensor& first = *stored.front();
    const Count counted = parameter.elements();
    Count elements_stored = 0;
    for (const StoredTensor* tensor : stored) elements_stored = checked::add(elements_stored, elements(tensor->shape));
    const bool whole_numbers = first.type->dtype && !is_floating_point(*first.type->dtype);
    if (packed || (whole_numbers && elements_stored != counted)) {
      for (const StoredTensor* tensor : stored) add(Finding::packed, tensor->name, parameter.shape, tensor);
      match_.stored_parameters += counted;
      ++match_.matched_tensors;
      return;
    }
    match_.stored_parameters = checked::add(match_.stored_parameters, elements_stored);
    const bool same = gguf_ ? sorted(first.shape) == sorted(parameter.shape) : first.shape == parameter.shape;
    if (elements_stored != counted || (stored.size() == 1 && !same)) {
      add(Finding::shape, name, parameter.shape, &first);
      return;
    }
    ++match_.matched_tensors;
    const bool kept_wide = parameter.always_float32 && first.type->dtype == DType::float32;
    if (!gguf_ && match_.dtype && first.type->dtype != match_.dtype && !kept_wide)
      for (const StoredTensor* tensor : stored) add(Finding::type, tensor->name, parameter.shape, tensor);
  }

  // Of a layer past the last one: prediction of further tokens, as DeepSeek-V3 has it.
  bool is_past_last_layer(std::string_view bare) const {
    for (const std::string_view start : {"layers.", "blk."}) {
      if (!bare.starts_with(start)) continue;
      Count layer = 0;
      std::size_t digits = 0;
      for (const char c : bare.substr(start.size())) {
        if (c < '0' || c > '9' || ++digits > 9) break;
        layer = 10 * layer + (c - '0');
      }
      return digits > 0 && digits <= 9 && layer >= layers_;
    }
    return false;
  }

  // What a tensor is that no parameter was found in.
  Finding judged(const std::string& bare) const {
    if (parameters_.head_is_tied && (bare == "lm_head.weight" || bare == "embed_out.weight" ||
                                     bare == "output.weight" || bare == "cls.predictions.decoder.weight"))
      return Finding::tied_head;
    return layers_ > 0 && is_past_last_layer(bare) ? Finding::prediction : what_beside(bare);
  }

  void judge(const StoredTensor& tensor) {
    const Finding finding = judged(bare_name(tensor.name));
    add(finding, tensor.name, std::nullopt, &tensor);
    if (finding == Finding::unexpected)
      match_.stored_parameters = checked::add(match_.stored_parameters, elements(tensor.shape));
  }

  const Parameters& parameters_;
  const Checkpoint& checkpoint_;
  bool gguf_;
  CheckpointMatch match_;
  Count layers_ = 0, names_found_ = 0;
  std::unordered_map<std::string, std::size_t> by_name_;
  std::vector<bool> used_;
  std::map<Key, FoundTensors> groups_;
};

void add_sizes(CheckpointMatch& match, const Checkpoint& checkpoint) {
  for (const StoredTensor& tensor : checkpoint.tensors) {
    match.stored_bytes += tensor.bytes;
    auto total = std::find_if(match.types.begin(), match.types.end(),
                              [&](const TypeTotal& t) { return t.type == tensor.type->name; });
    if (total == match.types.end()) total = match.types.insert(total, {tensor.type->name, 0, Bytes(0)});
    ++total->tensors;
    total->bytes += tensor.bytes;
  }
  std::sort(match.types.begin(), match.types.end(),
            [](const TypeTotal& a, const TypeTotal& b) { return b.bytes < a.bytes; });
}

// The floating-point type with the most bytes.
std::optional<DType> main_type(const Checkpoint& checkpoint) {
  std::map<DType, Bytes> bytes;
  for (const StoredTensor& tensor : checkpoint.tensors)
    if (tensor.type->dtype && is_floating_point(*tensor.type->dtype)) bytes[*tensor.type->dtype] += tensor.bytes;
  const auto most =
      std::max_element(bytes.begin(), bytes.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == bytes.end() ? std::nullopt : std::optional(most->first);
}

}  // namespace

std::string_view name_of(Finding finding) {
  switch (finding) {
    case Finding::missing: return "missing";
    case Finding::unexpected: return "unexpected";
    case Finding::shape: return "shape";
    case Finding::type: return "type";
    case Finding::packed: return "packed";
    case Finding::tied_head: return "tied_head";
    case Finding::buffer: return "buffer";
    case Finding::scales: return "scales";
    case Finding::other_part: return "other_part";
    case Finding::prediction: return "prediction";
  }
  return "";
}

bool CheckpointMatch::agrees() const {
  if (!by_name) return counted_parameters == stored_parameters;
  return std::none_of(found.begin(), found.end(), [](const FoundTensors& f) { return f.finding <= Finding::shape; });
}

CheckpointMatch match_checkpoint(const Parameters& parameters, const Checkpoint& checkpoint,
                                 std::optional<DType> dtype) {
  CheckpointMatch match = Matcher(parameters, checkpoint, dtype ? dtype : main_type(checkpoint)).take();
  add_sizes(match, checkpoint);
  if (match.dtype) match.counted_bytes = size_of(*match.dtype) * match.counted_parameters;
  return match;
}

CheckpointMatch describe_checkpoint(const Checkpoint& checkpoint) {
  CheckpointMatch match;
  match.dtype = main_type(checkpoint);
  add_sizes(match, checkpoint);
  for (const StoredTensor& tensor : checkpoint.tensors)
    match.stored_parameters = checked::add(match.stored_parameters, elements(tensor.shape));
  return match;
}

}  // namespace llmcalc
