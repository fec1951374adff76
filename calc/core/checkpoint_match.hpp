// A checkpoint's tensors against the count: what is not there, what nobody expected, what has another shape or type.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/checkpoint.hpp"
#include "core/parameters.hpp"

namespace llmcalc {

enum class Finding : unsigned char {
  missing,     // counted, not in the files
  unexpected,  // in the files, not counted
  shape,       // another shape
  type,        // another type than the rest
  packed,      // counted and there, several quantised values in each element: their number cannot be checked
  // In the files and rightly not counted:
  tied_head,
  buffer,      // a table or a state the model keeps: no parameter
  scales,      // of a quantised weight
  other_part,  // of a model around the language model: vision, audio
  prediction,  // of the layers that predict further tokens
};
std::string_view name_of(Finding finding);  // "missing", "other_part"

// Tensors of one name (numbers of layers and experts aside) and shape, found to be one thing.
struct FoundTensors {
  Finding finding;
  std::string name;  // "layers.*.mlp.up_proj.weight"
  Count tensors = 0;
  std::optional<Dims> counted, stored;  // shapes
  std::string_view type;                // as stored; empty when it is not
  Bytes bytes;                          // as stored, of all
};

// All tensors of one type.
struct TypeTotal {
  std::string_view type;
  Count tensors = 0;
  Bytes bytes;
};

struct CheckpointMatch {
  bool by_name = true;  // false: the files have names of their own, so that only the totals are compared
  Count counted_tensors = 0, matched_tensors = 0;       // of the count; matched in name, shape and elements
  Count counted_parameters = 0, stored_parameters = 0;  // elements; packed ones as counted
  std::optional<DType> dtype;                           // what most of the weights are stored in
  Bytes counted_bytes, stored_bytes;                    // of the parameters, counted in that dtype; of all tensors
  std::vector<FoundTensors> found;                      // in the order of Finding
  std::vector<TypeTotal> types;                         // the largest first

  // Every counted parameter is there with its shape, and nothing else is, but what rightly is not counted.
  bool agrees() const;
};

// `dtype`: what the configuration says the weights are stored in, if it does.
CheckpointMatch match_checkpoint(const Parameters& parameters, const Checkpoint& checkpoint,
                                 std::optional<DType> dtype);

// The same without a count: sizes and types alone.
CheckpointMatch describe_checkpoint(const Checkpoint& checkpoint);

}  // namespace llmcalc
