#include "core/resolve.hpp"

#include <algorithm>
#include <numeric>

#include "core/adapters.hpp"
#include "core/attention_choice.hpp"
#include "core/conventions.hpp"
#include "core/passes/inference.hpp"
#include "core/quantity.hpp"
#include "core/suggest.hpp"

namespace llmcalc {
namespace {

constexpr Count longest_assumed_seq = 4096;
constexpr Count most_chunks = 1024;

[[noreturn]] void unknown(const std::string& option, const std::string& name, const std::vector<std::string>& known) {
  std::string hint = did_you_mean(name, known);
  if (hint.empty()) hint = "known are " + join(known);
  throw Error(Exit::bad_input, "--" + option + ": unknown " + option + " " + in_quotes(name), hint);
}

// One of a closed set of names; the index into it.
std::size_t chosen(const std::string& option, const std::string& name, const std::vector<std::string>& known) {
  const auto found = std::find(known.begin(), known.end(), name);
  if (found == known.end()) unknown(option, name, known);
  return static_cast<std::size_t>(found - known.begin());
}

template <class T>
T or_assumed(const std::optional<T>& given, T assumed, const std::string& what, std::vector<std::string>& list) {
  if (given) return *given;
  list.push_back(what);
  return assumed;
}

std::string or_assumed(const std::optional<std::string>& given, const std::string& assumed, const std::string& option,
                       std::vector<std::string>& list) {
  return or_assumed<std::string>(given, assumed, option + " " + assumed, list);
}

bool has_peak(const Device& device, const char* key) { return device.peak.count(key) != 0; }

std::string default_precision(const RunOptions& given, const Device* device, std::vector<std::string>& assumed) {
  if (given.implementation == "megatron") {
    assumed.push_back("precision bf16-master-fp32-grads (megatron)");
    return "bf16-master-fp32-grads";
  }
  if (given.mode == "infer") {
    const char* const name = !device || has_peak(*device, "bf16") ? "bf16"
                             : has_peak(*device, "fp16")          ? "fp16-master"
                                                                  : "fp32";
    assumed.push_back(std::string("precision ") + name + " (of the weights)");
    return name;
  }
  if (!device || has_peak(*device, "bf16")) {
    assumed.push_back("precision amp-bf16");
    return "amp-bf16";
  }
  const bool fp16 = has_peak(*device, "fp16");
  assumed.push_back(fp16 ? "precision amp-fp16 (the device has no bf16)"
                         : "precision fp32 (the device has no 16-bit peak)");
  return fp16 ? "amp-fp16" : "fp32";
}

LossForm read_loss(const std::string& text) {
  if (text == "plain") return {};
  if (text == "fused") return {LossForm::Kind::fused, 1};
  if (text.rfind("chunked:", 0) == 0) {
    const Parsed<Count> chunks = parse_count(text.substr(8));
    if (chunks && *chunks > most_chunks)
      throw Error(Exit::bad_input, "--loss: more than " + std::to_string(most_chunks) + " chunks gain nothing");
    if (chunks && *chunks >= 1) return {LossForm::Kind::chunked, *chunks};
  }
  throw Error(Exit::bad_input, "--loss: " + in_quotes(text) + " is none of plain, chunked:n, fused");
}

void check_lengths(const ResolvedRun& run) {
  if (run.lengths.empty()) return;
  const Count sum = std::accumulate(run.lengths.begin(), run.lengths.end(), Count{0});
  if (sum != run.seq)
    throw Error(Exit::bad_input, "--lengths add up to " + std::to_string(sum) + ", not to the sequence length " +
                                     std::to_string(run.seq));
}

// Positions out of a table end with it; others go on by formula, which the scope says.
void check_positions(const ResolvedRun& run, const ModelInfo& model) {
  if (model.positions_from.empty() || longest_document(run) <= model.max_seq) return;
  throw Error(Exit::bad_input,
              "--seq " + std::to_string(longest_document(run)) + ": the model's " + model.positions_from + " end at " +
                  std::to_string(model.max_seq) + ", and PyTorch raises an error (such as \"index out of range\")",
              "at most --seq " + std::to_string(model.max_seq));
}

// --mtp needs a configuration that states such heads.
void choose_prediction(Resolved& r, const RunOptions& given, const ModelSource& source) {
  if (!given.mtp) return;
  check_prediction(source);
  r.run.mtp = r.plan.job.mtp = true;
}

// --lora, --dora, --qlora and --freeze.
void choose_trained(Resolved& r, const ModelSource& source) {
  const ResolvedRun& run = r.run;
  const std::pair<const char*, const std::optional<std::string>*> kinds[] = {
      {"lora", &run.lora}, {"dora", &run.dora}, {"qlora", &run.qlora}};
  std::string option, spec;
  for (const auto& [name, given] : kinds) {
    if (!*given) continue;
    if (!option.empty())
      throw Error(Exit::bad_input, "--" + option + " and --" + name + " exclude one another",
                  option == "dora" ? "--qlora r=16,dora is DoRA over 4-bit weights" : "");
    option = name;
    spec = **given;
  }
  if (option.empty() && !run.freeze) return;
  if (!source.model)
    throw Error(Exit::bad_input,
                "--" + (option.empty() ? "freeze" : option) + " needs the model's tensors; only its size is known");
  auto adapted = std::make_shared<Adapted>();
  if (!option.empty()) {
    LoraOptions lora = read_lora(option, spec);
    lora.dora = lora.dora || option == "dora";
    *adapted = with_adapters(source.model->parameters_for(r.plan.job), lora, option == "qlora", *r.plan.precision);
  } else {
    adapted->parameters = source.model->parameters_for(r.plan.job);
  }
  if (run.freeze) {
    std::vector<std::string> parts{""};
    for (const char c : *run.freeze) {
      if (c == ',')
        parts.emplace_back();
      else
        parts.back() += c;
    }
    freeze(adapted->parameters, parts);
  }
  r.plan.adapted = std::move(adapted);
}

void refuse_meaningless(const RunOptions& given, const std::string& mode) {
  const std::vector<std::string> names = given.meaningless_in(mode);
  if (names.empty()) return;
  std::vector<Diagnostic> problems;
  for (const std::string& name : names)
    problems.push_back({Severity::error,
                        {},
                        "--" + name + " means nothing with --mode " + mode,
                        mode == "infer" ? "leave it out, or --mode train" : "leave it out, or --mode infer"});
  throw Error(Exit::usage, problems);
}

// What of the recipes' names the device can compute, for a hint.
std::string precisions_of(const Device& device) {
  std::vector<std::string> possible;
  for (const char* name : {"amp-bf16", "amp-fp16", "fp32"})
    if (has_peak(device, std::string(precision_named(name)->peak_key()).c_str()))
      possible.push_back(std::string("--precision ") + name);
  return possible.empty() ? "its profile states no peak that a recipe here computes with" : join(possible, "or");
}

// The cache of keys and values: as many bits an element as the weights, unless --kv-dtype says otherwise.
void choose_cache(Resolved& r, const RunOptions& given) {
  const DType computes = r.plan.precision->autocast.value_or(r.plan.precision->weight);
  r.run.kv_dtype = given.kv_dtype                ? *given.kv_dtype
                   : computes == DType::bfloat16 ? "bf16"
                   : computes == DType::float16  ? "fp16"
                                                 : "fp32";
  r.plan.infers = true;
  r.kv_bits = kv_bits(*r.run.kv_dtype);
  if (!r.kv_bits) unknown("kv-dtype", *r.run.kv_dtype, {"fp32", "bf16", "fp16", "fp8", "int8", "fp4", "int4"});
  if (!given.kv_dtype) r.run.assumed.push_back("kv-dtype " + *r.run.kv_dtype);
}

}  // namespace

Count longest_document(const ResolvedRun& run) {
  return run.lengths.empty() ? run.seq : *std::max_element(run.lengths.begin(), run.lengths.end());
}

Resolved resolve(const RunOptions& given, const ModelSource& source, const Device* device) {
  Resolved r;
  ResolvedRun& run = r.run;
  std::vector<std::string>& assumed = run.assumed;
  run.mode = given.mode.value_or("train");
  chosen("mode", run.mode, {"train", "infer"});
  if (source.model) {
    run.batch = or_assumed<Count>(given.batch, 1, "batch 1", assumed);
    const Count seq = source.model->info.max_seq > 0 ? std::min(source.model->info.max_seq, longest_assumed_seq)
                                                     : longest_assumed_seq;
    run.seq = or_assumed<Count>(given.seq, seq, "seq " + std::to_string(seq), assumed);
  } else {
    run.batch = given.batch.value_or(1);
    run.seq = given.seq.value_or(1);
  }
  run.accumulate = given.accumulate.value_or(1);
  run.gpus = given.gpus.value_or(1);
  run.tokens = given.tokens;
  run.lengths = given.lengths.value_or(std::vector<Count>{});
  check_lengths(run);
  if (source.model) check_positions(run, source.model->info);

  run.precision = given.precision ? *given.precision : default_precision(given, device, assumed);
  const bool infers = run.mode == "infer";
  refuse_meaningless(given, run.mode);
  if (infers) {
    run.optimizer = "none";
    run.optimizer_step = "foreach";
    run.recompute = "none";
  } else {
    run.optimizer = or_assumed(given.optimizer, "adamw", "optimizer", assumed);
    run.optimizer_step = or_assumed(given.optimizer_step, "foreach", "optimizer-step", assumed);
    run.recompute = or_assumed(given.recompute, "none", "recompute", assumed);
  }
  run.implementation = or_assumed(given.implementation, "transformers", "implementation", assumed);
  const bool fused_loss = run.implementation == "fused" && !infers;  // its libraries bring the loss along
  run.loss = given.loss.value_or(fused_loss ? "fused" : "plain");
  if (!given.loss && fused_loss) assumed.push_back("loss fused (its libraries bring it)");
  run.attention_flops = or_assumed(given.attention_flops, "causal", "attention-flops", assumed);
  run.dropout = given.dropout;
  run.mfu = given.mfu;
  run.price = given.price;
  run.as_family = source.read_as;

  r.plan.precision = precision_named(run.precision);
  if (!r.plan.precision) unknown("precision", run.precision, precision_names());
  if (given.precision && device && !device->peak.empty() &&
      !has_peak(*device, std::string(r.plan.precision->peak_key()).c_str()))
    throw Error(Exit::bad_input,
                "--precision " + run.precision + ": " + device->name + " states no " +
                    std::string(r.plan.precision->peak_key()) + " peak",
                precisions_of(*device));
  r.plan.optimizer = optimizer_named(run.optimizer);
  if (!r.plan.optimizer) unknown("optimizer", run.optimizer, optimizer_names());
  r.plan.optimizer_step = static_cast<OptimizerStep>(
      chosen("optimizer-step", run.optimizer_step, {"foreach", "fused", "single", "in-backward"}));
  if (r.plan.optimizer_step == OptimizerStep::fused && !r.plan.optimizer->has_fused && !r.plan.optimizer->own_kernel)
    throw Error(Exit::bad_input, "--optimizer-step fused: torch.optim has no fused CUDA kernel for " + run.optimizer,
                "--optimizer-step foreach; sgd, adam and adamw have fused kernels");
  if (r.plan.optimizer_step == OptimizerStep::in_backward &&
      (run.accumulate > 1 || r.plan.precision->gradients_persist))
    throw Error(Exit::bad_input, "--optimizer-step in-backward frees every gradient at once, and so cannot accumulate",
                run.accumulate > 1 ? "a larger --batch instead of --accumulate" : "--precision bf16-master");
  if (infers) choose_cache(r, given);
  r.plan.accumulate = run.accumulate;
  Job& job = r.plan.job;
  job.batch = run.batch;
  job.seq = run.seq;
  job.lengths = run.lengths;
  job.dropout = run.dropout;
  job.implementation =
      static_cast<Implementation>(chosen("implementation", run.implementation, {"transformers", "fused", "megatron"}));
  job.recompute = static_cast<Recompute>(chosen("recompute", run.recompute, {"none", "selective", "full"}));
  job.loss = read_loss(run.loss);
  chosen("attention-flops", run.attention_flops, convention_names());
  r.counting = counting_of(run.attention_flops);
  if (infers && !convention_named(run.attention_flops)->counts_tape)
    throw Error(Exit::bad_input, "--attention-flops " + run.attention_flops + " counts a training step",
                "with --mode infer: causal, causal-exact or full");

  run.lora = given.lora;
  run.dora = given.dora;
  run.qlora = given.qlora;
  run.freeze = given.freeze;
  choose_prediction(r, given, source);
  choose_trained(r, source);
  run.expandable_segments = r.plan.expandable_segments = given.expandable_segments;

  if (run.mfu && *run.mfu > 1)
    throw Error(Exit::bad_input, "--mfu " + format_fixed(100 * *run.mfu, 1) + " %: more than the hardware can do",
                "40 % is written 40% or 0.4; usual causes otherwise: a sparse peak (twice the dense one), a forgotten "
                "device count, all parameters of a mixture of "
                "experts, hardware FLOPs taken for model FLOPs");
  if (run.mfu && *run.mfu <= 0) throw Error(Exit::bad_input, "--mfu must be above 0");

  if (source.model) {
    const std::string named = given.attention.value_or("auto");
    const AttentionChoice choice = choose_attention(named, source.model->info, job, *r.plan.precision, device);
    job.attention = choice.kernel;
    job.masked_attention = choice.masked_kernel;
    run.attention = std::string(name_of(choice.kernel));
    run.attention_why = choice.why;
    if (!given.attention) assumed.push_back("attention " + run.attention);
  }
  return r;
}

}  // namespace llmcalc
