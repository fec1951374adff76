// Which tensors of a job are this big: the other way round from an allocator's "tried to allocate 896.00 MiB".
#pragma once

#include <string>
#include <vector>

#include "core/model.hpp"
#include "core/model_source.hpp"
#include "core/passes/step.hpp"
#include "core/report.hpp"
#include "core/run.hpp"

namespace llmcalc {

// A tensor, or `count` alike taken together.
struct SizedTensor {
  std::string name;  // "layers.self_attn.softmax", "weight of lm_head"
  Dims shape;        // empty for what is no tensor of its own (all optimizer states)
  DType dtype = DType::float32;
  Bytes bytes;  // of one
  Count count = 1;

  Bytes total() const { return bytes * count; }
};

// One answer: a tensor, one of each layer together, or a sum of a few.
struct SizeMatch {
  std::vector<SizedTensor> tensors;
  Bytes bytes;
  double deviation = 0;     // from the size asked for, relative; 0: exact
  bool as_segment = false;  // smaller, but the caching allocator asks for the size asked for to hold it
};

// Up to `most` answers, simplest first: single tensors, those that the allocator rounds up to the size, then one of
// every layer together, then sums of two and of three. `tolerance` is relative: 0 finds exact sizes only. `near` says
// whether nothing lay within it and these are the nearest.
struct SizeAnswer {
  std::vector<SizeMatch> matches;
  bool near = false;
};
SizeAnswer find_size(Bytes size, double tolerance, const Model& model, const StepPlan& plan, std::size_t most);

// The same job with other lengths, batches, precisions or eager attention, as far as nobody has said which, that has a
// single tensor of that size: the fewest changes first, up to `most`.
struct SizeElsewhere {
  std::string options;  // "--seq 2048 --attention eager"
  SizedTensor tensor;
};
std::vector<SizeElsewhere> find_size_elsewhere(Bytes size, double tolerance, const ModelSource& source,
                                               const RunOptions& given, std::size_t most);

}  // namespace llmcalc
