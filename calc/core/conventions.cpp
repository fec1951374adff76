#include "core/conventions.hpp"

#include <algorithm>

namespace llmcalc {
namespace {

Count tokens(const Job& job) { return checked::multiply(job.batch, job.seq); }

// Of all layers, those that --mtp adds too.
std::vector<AttentionTraits> attention_of(const Model& model, const Job& job) {
  std::vector<AttentionTraits> all = model.info.attention;
  if (job.mtp) all.insert(all.end(), model.info.prediction_attention.begin(), model.info.prediction_attention.end());
  return all;
}

// 12 L H Q T for each token: Q K^T and the weighted sum, full squares, three passes (2 FLOPs x 2 products x 3).
Flops full_attention(const Model& model, const Job& job) {
  Flops sum;
  for (const AttentionTraits& a : attention_of(model, job)) {
    const Int128 sizes = checked::multiply<Int128>(a.heads, a.qk_size + a.v_size);  // = 2 H Q where both are alike
    sum += Flops(
        checked::multiply<Int128>(checked::multiply<Int128>(checked::multiply<Int128>(a.layers, 6), sizes), job.seq));
  }
  return sum * tokens(job);
}

Flops six_n(Count parameters, const Job& job) { return Flops(6) * parameters * tokens(job); }

Flops with_attention(Count parameters, const Model& model, const Job& job) {
  return six_n(parameters, job) + full_attention(model, job);
}

// "layers.mlp.gate" and "layers.mlp.router", not "layers.mlp.gate_proj".
bool is_router(const std::string& module) {
  const std::string last = module.substr(module.rfind('.') + 1);
  return last == "gate" || last == "router";
}

// The head and the projection of multi-token prediction's layers.
bool is_prediction_end(const std::string& module) {
  return module == "mtp.lm_head" || module == "mtp.eh_proj" || module == "mtp.fc";
}

// What a convention leaves out or not.
struct Counted {
  bool windows, routers, prediction_ends;
};

// The products of forward and backward with half of every square.
Flops half_squares(const Model& model, const Trace& trace, Counted counted) {
  Flops sum;
  for (Launch launch : trace.tape()) {
    if (!is_matrix_product(launch.op) || (launch.pass != Pass::forward && launch.pass != Pass::backward)) continue;
    const std::string& module = trace.modules()[launch.module];
    if (!counted.routers && model.info.mixture_of_experts && is_router(module)) continue;
    if (!counted.prediction_ends && is_prediction_end(module)) continue;
    // Half of the square, where a window makes it less; packed documents stay apart.
    if (!counted.windows && launch.pairs.causal_twice < launch.pairs.full_twice)
      launch.pairs.causal_twice = std::max(launch.pairs.causal_twice, launch.pairs.full_twice / 2);
    sum += model_flops(launch, AttentionCounting::causal);
  }
  return sum;
}

}  // namespace

const std::vector<Convention>& conventions() {
  static const std::vector<Convention> all{
      {"causal", "every product that is traced; T^2/2 pairs in a causal layer, w T - w^2/2 with a window",
       "this program's own; also MaxText's and Megatron's for dense models", true},
      {"causal-exact", "the same with the diagonal: the sum over i of min(i, w) pairs", "this program's own", true},
      {"full", "the same with T^2 pairs in every layer", "as kernel libraries and torch's FlopCounterMode count", true},
      {"6nd", "6 N for each token, N all parameters (the active ones of a mixture of experts); no attention",
       "Kaplan et al. 2020, arXiv:2001.08361"},
      {"palm", "(6 N + 12 L H Q T) for each token, N all (active) parameters", "PaLM, arXiv:2204.02311, appendix B"},
      {"nanogpt", "(6 N + 12 L H Q T) for each token, N without learned positions",
       "karpathy/nanoGPT, model.py, estimate_mfu"},
      {"megatron", "every product but routers; half of the square in every layer, whatever its window",
       "NVIDIA/Megatron-LM, megatron/training/training.py"},
      {"torchtitan", "(6 N + 12 L H Q T) for each token, N without the input embedding unless it is the head too",
       "pytorch/torchtitan, torchtitan/models/utils.py"},
      {"maxtext",
       "every product, routers too; half of the square, less with a window; multi-token prediction without its "
       "projection and head",
       "AI-Hypercomputer/maxtext, maxtext_utils.py, since July 2025"},
      {"llm-foundry", "(6 N + 12 L h T) for each token, N all (active) parameters, positions too",
       "mosaicml/llm-foundry, modeling_mpt.py"},
  };
  return all;
}

const Convention* convention_named(std::string_view name) {
  for (const Convention& convention : conventions())
    if (convention.name == name) return &convention;
  return nullptr;
}

std::vector<std::string> convention_names() {
  std::vector<std::string> names;
  for (const Convention& convention : conventions()) names.emplace_back(convention.name);
  return names;
}

AttentionCounting counting_of(std::string_view name) {
  if (name == "full") return AttentionCounting::full;
  return name == "causal-exact" ? AttentionCounting::causal_exact : AttentionCounting::causal;
}

Flops convention_flops(std::string_view name, const Model& model, const Job& job, const Trace& trace) {
  const ParameterCounts counts = count_parameters(model.parameters_for(job));
  if (name == "6nd") return six_n(counts.active, job);
  if (name == "palm") return with_attention(counts.active, model, job);
  if (name == "nanogpt") return with_attention(counts.active - counts.positions, model, job);
  if (name == "torchtitan") return with_attention(counts.active - (counts.tied ? 0 : counts.embedding), model, job);
  if (name == "llm-foundry") {
    Flops attention;  // by the hidden size, not heads x head size
    for (const AttentionTraits& a : attention_of(model, job))
      attention += Flops(checked::multiply<Int128>(
          checked::multiply<Int128>(checked::multiply<Int128>(a.layers, 12), model.info.hidden), job.seq));
    return six_n(counts.active, job) + attention * tokens(job);
  }
  if (name == "megatron") return half_squares(model, trace, {false, false, true});
  if (name == "maxtext") return half_squares(model, trace, {true, true, false});
  Flops sum;
  for (const Launch& launch : trace.tape())
    if (is_matrix_product(launch.op) && (launch.pass == Pass::forward || launch.pass == Pass::backward))
      sum += model_flops(launch, counting_of(name));
  return sum;
}

void apply_convention(FlopsReport& report, std::string_view name, const Model& model, const Job& job,
                      const Trace& trace, Count micro_batches) {
  const Convention* convention = convention_named(name);
  if (!convention || convention->counts_tape) return;
  const Flops one = convention_flops(name, model, job, trace);
  report.model = one * micro_batches;
  report.model_per_token = one.as_double() / static_cast<double>(tokens(job));
}

}  // namespace llmcalc
