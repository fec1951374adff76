// The options of one job, as given. Absent means: take the default; `resolve` (estimate.cpp) fills it in and
// lists what was assumed. Names of recipes stay text here; they are looked up in their tables.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/diagnostics.hpp"
#include "core/units.hpp"
#include "core/value.hpp"

namespace llmcalc {

struct RunOptions {
  std::optional<std::string> mode;            // train | infer
  std::optional<Count> batch;                 // sequences in one micro-batch on one device
  std::optional<Count> seq;                   // tokens per sequence
  std::optional<std::vector<Count>> lengths;  // packed documents inside one sequence
  std::optional<Count> accumulate;            // micro-batches per optimizer step
  std::optional<Count> tokens;                // training tokens in all
  std::optional<Count> gpus;                  // data-parallel replicas
  std::optional<std::string> precision;
  std::optional<std::string> optimizer;
  std::optional<std::string> optimizer_step;  // foreach | fused | single | in-backward
  std::optional<std::string> implementation;  // transformers | fused | megatron
  std::optional<std::string> attention;       // auto | eager | flash | efficient | cudnn | math
  std::optional<std::string> recompute;       // none | selective | full
  std::optional<std::string> loss;            // plain | chunked:n | fused
  std::optional<double> dropout;
  std::optional<std::string> lora, dora, qlora, freeze;
  std::optional<std::string> kv_dtype;
  std::optional<std::string> attention_flops;  // causal | causal-exact | full | named convention
  std::optional<double> mfu;                   // a fraction
  std::optional<double> price;                 // dollars per device-hour
  std::optional<std::string> as_family;
  bool mtp = false;
  bool expandable_segments = false;  // of the caching allocator
  bool require_fit = false;

  // `other` wins where it says something.
  RunOptions overridden_by(const RunOptions& other) const;

  // The options given that mean nothing in the mode ("optimizer" for "infer"), and the others without them.
  std::vector<std::string> meaningless_in(const std::string& asked_mode) const;
  RunOptions meaningful_in(const std::string& asked_mode) const;
};

// One option as text, as on the command line: {"batch", "4"}. A flag has the value "true" (or "").
struct GivenOption {
  std::string name, value;
};

// The names of all run options, in the order of the documentation ("optimizer-step").
const std::vector<std::string>& run_option_names();

// From a `run:` map. Keys are the option names, with - or _. Wrong values are reported at their place.
RunOptions read_run_options(const Value& map, Diagnostics& diagnostics);
// From the command line; the place of a problem is the key "--name".
RunOptions read_run_options(const std::vector<GivenOption>& given, Diagnostics& diagnostics);

}  // namespace llmcalc
