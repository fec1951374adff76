#include "cli/run_options.hpp"

#include <algorithm>

#include "core/model.hpp"
#include "core/optimizer.hpp"
#include "core/precision.hpp"
#include "read/load.hpp"

namespace llmcalc::cli {

namespace {

std::vector<std::string> architecture_names() {
  std::vector<std::string> names;
  for (const Architecture& architecture : architectures()) names.emplace_back(architecture.name);
  return names;
}

std::vector<Option> definitions() {
  const std::string job = "The job", recipe = "How it is computed", trained = "What is trained",
                    answer = "What is answered";
  std::vector<Option> all = {
      {.name = "mode",
       .value = "train|infer",
       .help = "training, or inference (--seq is then the context length)",
       .shown_default = "train",
       .choices = {"train", "infer"},
       .group = job},
      {.name = "batch",
       .value = "B",
       .help = "sequences in one micro-batch on one device",
       .shown_default = "1",
       .group = job},
      {.name = "seq",
       .value = "T",
       .help = "tokens per sequence (encoder and decoder each, where there are two)",
       .shown_default = "the model's maximum, at most 4096",
       .group = job},
      {.name = "lengths",
       .value = "a,b,...",
       .help = "packed documents inside one sequence; attention does not cross them",
       .shown_default = "one document",
       .group = job},
      {.name = "accumulate",
       .value = "K",
       .help = "micro-batches per optimizer step",
       .shown_default = "1",
       .group = job},
      {.name = "tokens", .value = "D", .help = "training tokens in all: 10e9, 15T", .group = job},
      {.name = "gpus",
       .value = "G",
       .help = "data-parallel replicas; memory is that of one replica, unsharded",
       .shown_default = "1",
       .group = job},
      {.name = "precision",
       .value = "P",
       .help = "number formats of weights, gradients, states and products (llmcalc list precisions)",
       .shown_default = "amp-bf16, or the best the device has",
       .group = recipe,
       .names = precision_names},
      {.name = "optimizer",
       .value = "O",
       .help = "the optimizer (llmcalc list optimizers)",
       .shown_default = "adamw",
       .group = recipe,
       .names = optimizer_names},
      {.name = "optimizer-step",
       .value = "S",
       .help = "how the optimizer walks the parameters; its temporaries count at the peak; in-backward frees gradients",
       .shown_default = "foreach",
       .choices = {"foreach", "fused", "single", "in-backward"},
       .group = recipe},
      {.name = "implementation",
       .value = "I",
       .help = "which operations a layer is made of",
       .shown_default = "transformers",
       .choices = {"transformers", "fused", "megatron"},
       .group = recipe},
      {.name = "attention",
       .value = "A",
       .help = "the attention kernel",
       .shown_default = "auto",
       .choices = {"auto", "eager", "flash", "efficient", "cudnn", "math"},
       .group = recipe},
      {.name = "recompute",
       .value = "R",
       .help = "activation checkpointing: the attention core, or each layer",
       .shown_default = "none",
       .choices = {"none", "selective", "full"},
       .group = recipe},
      {.name = "loss",
       .value = "L",
       .help = "how logits and cross-entropy are computed: plain, chunked:n, fused",
       .shown_default = "plain",
       .group = recipe},
      {.name = "dropout",
       .value = "X",
       .help = "overrides the model's dropout rates",
       .shown_default = "the model's",
       .group = recipe},
      {.name = "kv-dtype",
       .value = "D",
       .help = "number format of the KV cache (inference)",
       .shown_default = "the weights'",
       .group = recipe},
      {.name = "mtp", .help = "build multi-token-prediction heads", .group = recipe},
      {.name = "expandable-segments",
       .help = "the caching allocator with expandable_segments:True (PYTORCH_CUDA_ALLOC_CONF)",
       .group = recipe},
      {.name = "lora",
       .value = "SPEC",
       .help = "train adapters: r=16,targets=all-linear, or targets q,v,...",
       .group = trained},
      {.name = "dora",
       .value = "SPEC",
       .help = "the same with a trained magnitude per output (DoRA)",
       .group = trained},
      {.name = "qlora",
       .value = "SPEC",
       .help = "the same over 4-bit weights; a word dora in SPEC makes it QDoRA",
       .group = trained},
      {.name = "freeze",
       .value = "PART,...",
       .help = "parts that are not trained",
       .shown_default = "everything is trained",
       .group = trained},
      {.name = "attention-flops",
       .value = "C",
       .help = "how attention is counted: causal, causal-exact, full, or a named convention (palm, megatron, ...)",
       .shown_default = "causal",
       .group = answer},
      {.name = "mfu",
       .value = "X",
       .help = "take this MFU instead of the predicted one: 0.4, 40%",
       .shown_default = "predicted",
       .group = answer},
      {.name = "price",
       .value = "X",
       .help = "dollars per device-hour",
       .shown_default = "the profile's",
       .group = answer},
      {.name = "require-fit", .help = "exit 1 when it does not fit", .group = answer},
      {.name = "as",
       .value = "FAMILY",
       .help = "read an unknown model_type as this family (llmcalc list architectures)",
       .group = answer,
       .names = architecture_names},
      {.name = "run", .value = "FILE", .help = "a YAML file with run options; the command line wins", .group = answer},
  };
  for (Option& option : all) option.read_later = true;
  return all;
}

}  // namespace

std::vector<std::string> not_of_one_step() {
  return {"tokens", "gpus", "mfu", "price", "require-fit", "attention-flops", "expandable-segments"};
}

void take_run_options(Command& command, const std::vector<std::string>& without_effect, const std::string& why) {
  for (Option& option : definitions()) {
    const bool refused = std::find(without_effect.begin(), without_effect.end(), option.name) != without_effect.end();
    (refused ? command.refused : command.options).push_back(std::move(option));
  }
  command.why_refused = why;
}

void refuse_run_options(const Arguments& arguments, const std::string& with_model) {
  for (const Option& option : definitions())
    if (arguments.has(option.name))
      throw Error(Exit::usage, "--" + option.name + " describes a job, and there is no MODEL",
                  with_model + " --" + option.name + " ...");
}

RunOptions run_options_from(const Arguments& arguments, const Value* model, Output& output) {
  Diagnostics diagnostics;
  RunOptions of_model, options;
  const Value* section = model == nullptr ? nullptr : model->find("run");
  if (section != nullptr) of_model = read_run_options(*section, diagnostics);
  if (const std::optional<std::string> file = arguments.get("run"))
    options = read_run_options(load_run_file(*file), diagnostics);
  std::vector<GivenOption> given;
  for (const std::string& name : run_option_names()) {
    if (const std::optional<std::string> value = arguments.get(name)) given.push_back({name, *value});
  }
  options = options.overridden_by(read_run_options(given, diagnostics));
  // A profile written for training may be asked about inference: what its own run says of the optimizer is left aside.
  if (options.mode && options.mode != of_model.mode.value_or("train")) of_model = of_model.meaningful_in(*options.mode);
  options = of_model.overridden_by(options);
  diagnostics.throw_if_errors();
  for (const Diagnostic& warning : diagnostics.all()) output.warnings.push_back(warning);
  return options;
}

}  // namespace llmcalc::cli
