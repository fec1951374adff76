// What is trained of a model: frozen parts, low-rank adapters (LoRA, DoRA), a base packed in 4 bits (QLoRA).
//
// Adapters are those of PEFT: beside a frozen linear weight (out, in) two matrices A (r, in) and B (out, r), and
// y = W x + s B A dropout(x). DoRA (arXiv:2402.09353) adds a magnitude m (out), and y = m (W + s B A) x / |W + s B A|,
// the norm taken row by row. 4-bit weights are bitsandbytes': NF4 in blocks of 64, the maxima of blocks in 8 bits with
// a float32 scale for every 256 of them (double quantisation); embedding, head and norms stay as they are.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/parameters.hpp"
#include "core/precision.hpp"
#include "core/trace.hpp"

namespace llmcalc {

struct LoraOptions {
  Count rank = 0;
  double dropout = 0;
  std::vector<std::string> targets;  // names of linears; empty: all of the layers
  bool dora = false;
  std::string option = "lora";  // that asked for them, for messages
};

// "r=16,targets=q,v,dropout=0.05"; a bare "dora" asks for DoRA. Throws Error(bad_input), naming `option`.
LoraOptions read_lora(const std::string& option, const std::string& text);

// A model's parameters with what is trained marked, adapters added.
struct Adapted {
  Parameters parameters;
  std::vector<AdapterLeaf> adapters;  // by parameter, for the trace
};

// Throws Error(bad_input) for targets that name nothing.
Adapted with_adapters(const Parameters& base, const LoraOptions& lora, bool quantised, const Precision& precision);

// Marks what PARTs name as not trained: embedding, positions, head, norms, attention, mlp, layers, or a piece of a
// parameter's name. Throws Error(bad_input) for one that names nothing.
void freeze(Parameters& parameters, const std::vector<std::string>& parts);

// Bytes of `n` elements in 4 bits with double-quantised scales.
Bytes packed_4bit(Count n);

}  // namespace llmcalc
